/** `node tasks.ts [ROWS] [FILE]` writes tasks as JSON lines, for a command such as agent.py (`agent.tasks`). */
import { writeFileSync } from "node:fs";
import { drawTask } from "./facts.ts";

const [rows = "4096", file = "tasks.jsonl"] = process.argv.slice(2);
const lines = Array.from({ length: Number(rows) }, (_, seed) => {
  const { answer, facts, question } = drawTask(seed, "train");
  return JSON.stringify({ question, facts, answer });
});
writeFileSync(file, `${lines.join("\n")}\n`);
