/** The messages that answer a reply with tools: a result for each call, and what could not be read. Pure. */
import type { Message } from "../../domain/Conversation.ts";
import type { RepliedTurn } from "../Dialogue.ts";

const notExecuted = "not carried out: the calls before it ended the episode";

/** The messages behind the reply of turn `turn`. */
export const toolMessages = (
  { requests, results }: Pick<RepliedTurn, "requests" | "results">,
  turn: number,
): readonly Message[] => {
  if (requests === undefined) return [];
  let next = 0;
  const texts = requests.calls.map(({ problem }) => (problem === null ? (results[next++] ?? notExecuted) : problem));
  const answers = texts.map(
    (text, at): Message =>
      requests.isAnswer ? { role: "user", text } : { role: "tool", call: `call_${turn}_${at}`, text },
  );
  const problems = requests.problems.join("\n");
  return problems === "" ? answers : [...answers, { role: "user", text: problems }];
};
