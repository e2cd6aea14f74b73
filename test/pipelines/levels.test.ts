/** Runs over real threads whose training plays levels: they are played as presets of their own, in records, metrics and validation. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too. */
const patience = 240_000;

let dir = "";
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-levels-"));
  await Effect.runPromise(writeModel(dir));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const shape: Tree = {
  trainer: { total_training_steps: 3, trajectory_freq: 1, trajectory_groups: 100, val_at_end: true },
  pipeline: { step_inline: false, step_threads: 1 },
  es_manager: {
    train: { env_groups: 4, n_groups: [4], sampler: { by: "difficulty" } },
    val: { env_groups: 4, n_groups: [4] },
  },
};

/** Trains a run of `changes`, and returns the lines of its logs. */
const run = async (name: string, changes: Tree) => {
  const config = tinyConfig(dir, merge(shape, changes));
  await Effect.runPromise(train({ config: { ...config, run: { ...config.run, name } }, resume: null }));
  const folder = join(dir, "runs", name);
  const stamp = readdirSync(folder).at(-1) ?? "";
  const lines = (file: string): readonly Tree[] =>
    readFileSync(join(folder, stamp, file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { lines, config: readFileSync(join(folder, stamp, "config.yaml"), "utf8") };
};

describe("a run whose preset has levels", () => {
  it("plays each under its tag, and writes its file without their presets", { timeout: patience }, async () => {
    const levels = { small: { size: 2 }, large: { size: 5 } };
    const { config, lines } = await run("lakes", { custom_envs: { FrozenLake: { levels } } });
    const tags = ["FrozenLake:large", "FrozenLake:small"];
    const drawn = lines("events.jsonl").filter(({ _tag }) => _tag === "Admitted");
    expect(drawn).toHaveLength(12);
    const records = lines("trajectories.jsonl");
    for (const { group, level } of drawn) {
      const ofGroup = records.filter((record) => record.split === "train" && record.group === group);
      expect(ofGroup.length).toBeGreaterThan(0);
      for (const { tag } of ofGroup) expect(tag).toBe(level);
    }
    const rowsOf = ({ messages }: Tree) => String((messages as readonly Tree[])[0]?.content);
    const sizes = new Map(tags.map((tag) => [tag, records.find((record) => record.tag === tag)]));
    expect(rowsOf(sizes.get("FrozenLake:large")!)).not.toBe(rowsOf(sizes.get("FrozenLake:small")!));
    const validated = records.filter(({ split }) => split === "val").map(({ tag }) => tag as string);
    expect([...new Set(validated)].sort()).toEqual(tags);
    const last = lines("metrics.jsonl").at(-1)!;
    for (const tag of tags) {
      expect(last[`sampler/${tag}/probability`]).toBeGreaterThan(0);
      expect(last).toHaveProperty(`val-env/${tag}/success`);
    }
    expect(config).toContain("large:");
    expect(config).not.toContain("FrozenLake:large");
  });
});

describe("an agent whose tasks have levels", () => {
  it("plays tasks of the level that is drawn", { timeout: patience }, async () => {
    const path = join(dir, "levelled.mjs");
    const task = (level: string, row: number) => ({ level, row });
    const tasks = Array.from({ length: 40 }, (_, row) => task(row % 2 === 0 ? "low" : "high", row));
    writeFileSync(
      path,
      `const ask = ({ apiKey, baseURL }) => fetch(baseURL + "/chat/completions", {
  method: "POST",
  headers: { authorization: "Bearer " + apiKey, "content-type": "application/json" },
  body: JSON.stringify({ model: "policy", messages: [{ role: "user", content: "say" }] }),
});
export default {
  tasks: ${JSON.stringify(tasks)},
  run: async ({ task, episode }) => {
    await (await ask(episode)).json();
    if (task.level !== episode.level) throw new Error("another level");
    return { reward: episode.member % 2, metrics: { high: task.level === "high" } };
  },
};
`,
    );
    const { lines } = await run("levelled", {
      agent: { path, levels: ["low", "high"] },
      es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
    });
    const last = lines("metrics.jsonl").at(-1)!;
    expect(last["train/episodes/failed"]).toBe(0);
    expect(last["val-env/Agent:high/high"]).toBe(1);
    expect(last["val-env/Agent:low/high"]).toBe(0);
    expect(last).toHaveProperty("sampler/Agent:high/probability");
  });
});
