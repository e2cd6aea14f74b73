/**
 * `node demonstrations.ts [ROWS] [MISTAKES] [FILE]` writes conversations of a scripted expert, for `millrace sft`. With the share MISTAKES it looks
 * up another name, at each of both lookups, and answers without a calculation. So a clone of it knows the form of calls and answers, and training
 * has to find out which calls pay.
 */
import { writeFileSync } from "node:fs";
import { drawTask, names, pick, randomFrom, toolsOf } from "./facts.ts";

/** A conversation and its tools, as OpenAI has them for fine-tuning. */
export interface Demonstration {
  readonly messages: readonly object[];
  readonly tools: readonly object[];
}

export const demonstration = (seed: number, mistakes: number): Demonstration => {
  const task = drawTask(seed, "demonstration");
  const random = randomFrom(1_000_003 * seed + 7);
  const tools = toolsOf(task);
  const messages: object[] = [{ role: "user", content: task.question }];
  /** Writes a call and its result. */
  const call = (name: string, parameter: string, text: string): string => {
    const id = `call_${messages.length}`;
    const request = { id, type: "function", function: { name, arguments: JSON.stringify({ [parameter]: text }) } };
    const result = tools.find((tool) => tool.name === name)?.run({ [parameter]: text }) ?? "no";
    messages.push({ role: "assistant", content: null, tool_calls: [request] });
    messages.push({ role: "tool", tool_call_id: id, content: result });
    return result;
  };
  const found = task.people.map((name) => {
    const others = names.filter((other) => other !== name);
    return call("find", "name", random() < mistakes ? pick(random, others) : name);
  });
  const answer = random() < mistakes ? found[0] : call("solve", "sum", found.join("+"));
  messages.push({ role: "assistant", content: answer });
  const offered = tools.map(({ description, name, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  return { messages, tools: offered };
};

if (import.meta.main) {
  const [rows = "4096", mistakes = "0.5", file = "conversations.jsonl"] = process.argv.slice(2);
  const lines = Array.from({ length: Number(rows) }, (_, seed) =>
    JSON.stringify(demonstration(seed, Number(mistakes))),
  );
  writeFileSync(file, `${lines.join("\n")}\n`);
}
