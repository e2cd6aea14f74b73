/** The example agents that need a client's package train a step, each in a copy of its folder beside that package. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { npmPackages, offline, pythonCommands } from "./program.ts";

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-examples-"));
  cpSync(join(packageRoot, "docs/examples/agents"), dir, { recursive: true });
  symlinkSync(npmPackages, join(dir, "node_modules"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Trains one small step, and returns the lines of its trajectories. */
const trained = async (name: string, words: readonly string[]) => {
  const folder = join(dir, "facts");
  const small = [
    `model.path=${join(packageRoot, "config/models/nano")}`,
    `run.dir=${join(dir, name)}`,
    "trainer.total_training_steps=1",
    "es_manager.train.env_groups=4",
    "es_manager.train.n_groups=[4]",
    "es_manager.val.env_groups=4",
    "es_manager.val.n_groups=[4]",
    "actor.ppo_mini_batch_size=8",
  ];
  const program = join(packageRoot, "pipelines/millrace.mjs");
  const options = { cwd: folder, env: { ...process.env, ...offline } };
  await promisify(execFile)(process.execPath, [program, "train", ...words, ...small], options);
  const runs = readdirSync(join(dir, name), { recursive: true, encoding: "utf8" });
  const file = runs.find((path) => path.endsWith("trajectories.jsonl"));
  const lines = readFileSync(join(dir, name, file ?? ""), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as { outcome: { _tag: string }; turns: readonly unknown[] });
};

it.each<[string, () => readonly string[]]>([
  ["facts/agent.ts", () => ["--config-name", "./train.yaml"]],
  [
    "facts/agent.py",
    () => {
      const rows = Array.from({ length: 20 }, () => ({
        question: "Nurse + Pilot",
        facts: { Nurse: 12, Pilot: 30 },
        answer: "42",
      }));
      writeFileSync(join(dir, "facts", "tasks.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
      const command = `${join(pythonCommands, "python")} agent.py`;
      return ["--config-name", "./train.yaml", "--agent", command, "agent.tasks=tasks.jsonl"];
    },
  ],
  ["lake/openaiAgent.ts", () => ["--config-name", "quickstart", "--agent", "../lake/openaiAgent.ts"]],
])("%s trains", { timeout: 180_000 }, async (name, wordsOf) => {
  const lines = await trained(name.replace("/", "-"), wordsOf());
  expect(lines.length).toBeGreaterThan(0);
  for (const { outcome, turns } of lines) {
    expect(outcome).not.toMatchObject({ _tag: "Failed" });
    expect(turns.length).toBeGreaterThan(0);
  }
});
