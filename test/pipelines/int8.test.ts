/** Runs whose generator holds its weights in 8 bits: they can be told from others by mu, repeat to the bit, and say so at their start. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { devicesLine, formatLine } from "../../pipelines/devices.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { hasExactInt8 } from "../../src/model/runtime/exactInt8.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too; a few seconds on a quiet one. */
const patience = 240_000;

const exact = await hasExactInt8();
let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-int8-"));
  await Effect.runPromise(writeModel(root));
}, patience);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const changesOf = (name: string, changes: Tree): Tree => ({
  run: { name },
  trainer: { total_training_steps: 2 },
  ...changes,
});

/** The steps of a run's metrics. */
const playRun = async (name: string, model: Tree): Promise<readonly Record<string, number>[]> => {
  await Effect.runPromise(train({ config: tinyConfig(root, changesOf(name, { model })), resume: null }));
  const runs = join(root, "runs", name);
  return readFileSync(join(runs, readdirSync(runs)[0]!, "metrics.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
};

const losses = (steps: readonly Record<string, number>[]) =>
  steps.map((step) => [step["actor/pg_loss"], step["mismatch/kl"]]);

describe("a run with model.generator_dtype=int8", () => {
  it.runIf(exact)(
    "samples off the learner's policy by its rounding, and repeats to the bit",
    async () => {
      const whole = await playRun("float32", {});
      const one = await playRun("one", { generator_dtype: "int8" });
      const other = await playRun("other", { generator_dtype: "int8", generator_threads: 2 });
      const fresh = (steps: readonly Record<string, number>[]) => steps.at(-1)!["mismatch/fresh/abs/mean"]!;
      expect(fresh(whole)).toBeLessThan(1e-5);
      expect(fresh(one)).toBeGreaterThan(1e-5);
      expect(fresh(one)).toBeLessThan(0.1);
      expect(losses(one).flat().every(Number.isFinite)).toBe(true);
      expect(losses(other)).toEqual(losses(one));
    },
    patience,
  );

  it("says so at its start", () => {
    const { model } = tinyConfig(root, { model: { generator_dtype: "int8" } });
    expect(formatLine(model, ["generator", "learner"])).toMatch(/^generation with int8 weights: .*mismatch\/kl/);
    expect(formatLine(model, ["learner"])).toBeUndefined();
    expect(devicesLine(model, ["generator", "learner"], { parameters: 10, adapter: undefined })).toBeUndefined();
  });
});
