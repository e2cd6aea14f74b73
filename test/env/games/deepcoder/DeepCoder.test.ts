/** The environment, with JavaScript: tasks and splits, rewards, what ends an episode, and that it refuses without a sandbox. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { DeepCoder, type DeepCoderState } from "../../../../src/env/games/deepcoder/DeepCoder.ts";
import { runnerOf } from "../../../../src/env/sandbox/runner.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { solutions } from "./solutions.ts";
import { configWith, doubling, echoing, roomy } from "./tasks.ts";

const { signal } = new AbortController();
const config = configWith({ ...roomy, val_path: "config/data/deepcoder/val.jsonl" });
const start = (task = doubling): DeepCoderState => ({ task, verdict: null });
const step = (state: DeepCoderState, action: string, keys: Readonly<Record<string, unknown>> = {}) =>
  DeepCoder.step({ ...config, ...keys }, state, action, noiseOf(0, 0, 0), signal);

interface Row {
  readonly name: string;
  readonly problem: string;
  readonly entry?: string;
  readonly tests: readonly unknown[];
}
const rowsOf = (split: string): readonly Row[] =>
  readFileSync(new URL(`../../../../config/data/deepcoder/${split}.jsonl`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
const train = rowsOf("train");
const val = rowsOf("val");

const instances = async (split: "train" | "val", count: number): Promise<readonly DeepCoderState[]> =>
  Promise.all(Array.from({ length: count }, (_, seed) => DeepCoder.reset(config, instanceOf(seed), split, signal)));

describe("the tasks that come with it", () => {
  it("are some sixty, functions and programs in either split, each with tests of its own", () => {
    expect([train.length, val.length]).toEqual([49, 16]);
    for (const rows of [train, val]) {
      expect(rows.filter(({ entry }) => entry === undefined).length).toBeGreaterThan(rows.length / 4);
      expect(rows.filter(({ entry }) => entry !== undefined).length).toBeGreaterThan(rows.length / 4);
      for (const { tests } of rows) expect(tests.length).toBeGreaterThanOrEqual(3);
    }
  });

  it("are all different, and none is in both splits", () => {
    const all = [...train, ...val];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    expect(new Set(all.map(({ problem }) => problem)).size).toBe(all.length);
  });

  it("have a solution in each language", () => {
    const names = [...train, ...val].map(({ name }) => name).sort();
    expect([...solutions.python.keys()].sort()).toEqual(names);
    expect([...solutions.javascript.keys()].sort()).toEqual(names);
  });
});

describe("an instance", () => {
  it("is of its own split: training never sees validation", async () => {
    const keysOf = async (split: "train" | "val") =>
      new Set((await instances(split, 400)).map((state) => DeepCoder.contentKey(config, state)));
    const [training, validation] = [await keysOf("train"), await keysOf("val")];
    expect([training.size, validation.size]).toEqual([train.length, val.length]);
    expect([...training].filter((key) => validation.has(key))).toEqual([]);
  });

  it("is divided by content where there is one file", async () => {
    const one = configWith({ ...roomy, val_share: 0.3 });
    const keysOf = async (split: "train" | "val") =>
      new Set(
        await Promise.all(
          Array.from({ length: 200 }, async (_, seed) =>
            DeepCoder.contentKey(one, await DeepCoder.reset(one, instanceOf(seed), split, signal)),
          ),
        ),
      );
    const [training, validation] = [await keysOf("train"), await keysOf("val")];
    expect(training.size + validation.size).toBe(train.length);
    expect([...training].filter((key) => validation.has(key))).toEqual([]);
  });
});

describe("an answer", () => {
  it("is worth the share of tests that pass, and succeeds with all", async () => {
    const some = await step(start(), "const double = (number) => (number < 0 ? 0 : 2 * number);");
    expect(some).toMatchObject({
      reward: 0.5,
      terminated: true,
      truncated: false,
      info: {
        success: false,
        action_is_effective: true,
        action_is_valid: true,
        passed_tests: 2,
        total_tests: 4,
        timed_out: false,
        compile_error: false,
      },
    });
    const all = await step(start(), "```js\nconst double = (n) => n === true ? null : 2 * n;\n```");
    expect(all).toMatchObject({ reward: 1, info: { success: true, passed_tests: 4 } });
  });

  it("may be a program", async () => {
    const code = "let line; while ((line = readline()) !== null) console.log(line);";
    expect(await step(start(echoing), code)).toMatchObject({ reward: 1, info: { success: true } });
  });

  it("that does not compile passes nothing", async () => {
    expect(await step(start(), "const double = (")).toMatchObject({
      reward: 0,
      terminated: true,
      info: { success: false, action_is_effective: false, action_is_valid: true, compile_error: true, passed_tests: 0 },
    });
  });

  it("without code is no valid action, and ends the episode all the same", async () => {
    for (const action of ["", " \n", "```js\n```"]) {
      expect(await step(start(), action)).toMatchObject({
        reward: 0,
        terminated: true,
        info: { success: false, action_is_valid: false, passed_tests: 0, total_tests: 4 },
      });
    }
  });

  it("out of time fails its test alone, or all where that is wanted", async () => {
    const code = "const double = (n) => { while (n === 0); return n === true ? null : 2 * n; };";
    const kept = await step(start(), code, { test_timeout: 0.3 });
    expect(kept).toMatchObject({ reward: 0.75, info: { passed_tests: 3, timed_out: true } });
    const strict = await step(start(), code, { test_timeout: 0.3, timeout_fails_all: true });
    expect(strict).toMatchObject({ reward: 0, info: { passed_tests: 0, timed_out: true } });
  });

  it("is tested on the first max_tests", async () => {
    expect(await step(start(), "const double = (n) => n + 1;", { max_tests: 1 })).toMatchObject({
      reward: 1,
      info: { total_tests: 1, success: true },
    });
  });

  it("is the only one: what follows it changes nothing", async () => {
    const { state } = await step(start(), "const double = (n) => 2 * n;");
    const after = await step(state, "const double = (n) => n === true ? null : 2 * n;");
    expect(after.state).toEqual(state);
    expect(after).toMatchObject({ reward: 0, terminated: true, info: { action_is_effective: false } });
  });

  it("is judged without its expected outputs being shown", async () => {
    const { state } = await step(start(), "const double = () => 5;");
    expect(DeepCoder.render(config, state)).toBe("Your code passes 0 of 4 tests: test 1 has a wrong result.");
  });
});

describe("every solution in JavaScript passes", () => {
  it.each([...train, ...val].map(({ name }) => name))("%s", async (name) => {
    const split = val.some((row) => row.name === name) ? "val" : "train";
    const state = states.get(name)!;
    expect(states.has(name) ? split : "").toBe(split);
    const { info, state: after } = await step(state, solutions.javascript.get(name)!);
    expect({ note: after.verdict!.note, ...info }).toMatchObject({ note: "", success: true });
  });
});

const states = new Map<string, DeepCoderState>();
beforeAll(async () => {
  for (const split of ["train", "val"] as const) {
    for (const state of await instances(split, 400)) states.set(state.task.name, state);
  }
});

describe("without a sandbox", () => {
  const missing = configWith({ bubblewrap: "/no/such/bwrap" });

  it("says what to install", async () => {
    const lacks = await DeepCoder.lacks!(missing);
    expect(lacks).toHaveLength(1);
    expect(lacks[0]).toMatch(/bubblewrap|Linux/);
    expect(lacks[0]).toContain("env_config.language");
    await expect(DeepCoder.prepare!(missing)).rejects.toThrow(/bubblewrap|Linux/);
  });

  it("runs nothing: the step rejects, and there is no runner", async () => {
    await expect(runnerOf(missing)).rejects.toThrow();
    await expect(step(start(), "open('/tmp/out', 'w')", missing)).rejects.toThrow(/bubblewrap|Linux/);
  });

  it("needs none for JavaScript", async () => {
    expect(await DeepCoder.lacks!(config)).toEqual([]);
  });

  it("says which data file is not there", async () => {
    const [sentence] = await DeepCoder.lacks!({ ...config, path: "config/data/deepcoder/trian.jsonl" });
    expect(sentence).toContain("train.jsonl");
  });
});
