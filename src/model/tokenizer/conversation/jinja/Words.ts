/** Words that no template and no conversation has, in the place of messages: they show where a template writes a message. */
import type { Message, Tool } from "../../../../domain/Conversation.ts";

/** A message of words, and the words that a template must write for it, in order. */
export interface WordMessage {
  readonly message: Message;
  readonly words: readonly string[];
}

/** The message in the place `index`: each text is a word, and a blank text is none. */
export const inWords = (message: Message, index: number): WordMessage => {
  const word = message.text.trim() === "" ? "" : `qz${index}textqz`;
  const words = word === "" ? [] : [word];
  if (message.role !== "assistant") return { message: { ...message, text: word }, words };
  const calls = message.calls.map(({ id }, at) => {
    const [name, argument, value] = ["name", "argument", "value"].map((part) => `qz${index}${part}${at}qz`);
    return { id, name: name ?? "", arguments: { [argument ?? ""]: value ?? "" } };
  });
  const callWords = calls.flatMap(({ arguments: values, name }) => [name, ...Object.values(values)]);
  return { message: { ...message, text: word, calls }, words: [...words, ...callWords] };
};

/** A tool of words. */
export const wordTool: Tool = {
  name: "qztoolqz",
  description: "qzdescriptionqz",
  parameters: { type: "object", properties: { qzparameterqz: { type: "string" } }, required: ["qzparameterqz"] },
};

/** The index of the first message whose words `text` lacks, or has in another order; undefined where it has all. */
export const firstMissing = (text: string, messages: readonly WordMessage[]): number | undefined => {
  let at = 0;
  for (const [index, { words }] of messages.entries()) {
    for (const word of words) {
      at = text.indexOf(word, at);
      if (at < 0) return index;
    }
  }
  return undefined;
};
