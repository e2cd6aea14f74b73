/** The ids of a response and of its items. Each holds the id of the answer, so that an item can be found by its id alone. */

export const responsePrefix = "resp_";

/** A piece of an answer: its thoughts, its text, or the tool call at an index. */
export interface ItemId {
  readonly answer: string;
  readonly part: "reasoning" | "message" | number;
}

export const itemIdText = ({ answer, part }: ItemId): string => {
  if (part === "reasoning") return `rs_${answer}`;
  return part === "message" ? `msg_${answer}` : `fc_${answer}_${part}`;
};

/** Reads an item's id; null if it is none of ours. */
export const parseItemId = (text: string): ItemId | null => {
  if (text.startsWith("rs_")) return { answer: text.slice("rs_".length), part: "reasoning" };
  if (text.startsWith("msg_")) return { answer: text.slice("msg_".length), part: "message" };
  const call = /^fc_(.+)_(\d{1,9})$/.exec(text);
  return call === null ? null : { answer: call[1] ?? "", part: Number(call[2]) };
};
