/** A policy and a learner of the user's own in a run: the calls that they get, and what is said of one that does not fit. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BadInput,
  type CustomLearner,
  type CustomPolicy,
  type LearnerContext,
  LearnerError,
  type ModelWeights,
  PolicyError,
  type ReplyRequest,
  type RunConfig,
  type StartOptions,
  start,
} from "../../pipelines/main.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { writeModel } from "./tiny.ts";

let dir = "";
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "millrace-own-models-"));
  await Effect.runPromise(writeModel(dir));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const configOf = (changes: Tree = {}): RunConfig => tinyConfig(dir, changes);

/** Trains to the end and returns the result, or rejects with the run's error. */
const trainWith = async (options: StartOptions, changes: Tree = {}) => {
  const run = await start(configOf(changes), { signals: false, ...options });
  return { ...(await run.ended), folder: run.folder };
};

/** A policy that always says the same, and keeps what it was asked and given. */
const scripted = () => {
  const requests: ReplyRequest[] = [];
  const adopted: (readonly [number, ModelWeights | null])[] = [];
  let ids = Int32Array.of();
  const policy: CustomPolicy = {
    start: ({ encode, stopIds }) => {
      ids = Int32Array.of(...encode("x</think><answer>Up</answer>"), stopIds[0]!).slice(-8);
    },
    generate: (request) => {
      requests.push(request);
      // The log-probabilities differ, so that advantages and entropies move something.
      return { ids, logProbs: Float32Array.from(ids, () => Math.log(0.5 + request.random() / 4)) };
    },
    adopt: (version, weights) => void adopted.push([version, weights]),
  };
  return { policy, requests, adopted };
};

/** A learner that moves every weight by 0.01 a window, and counts its windows in a file. */
const nudging = (changes: Partial<CustomLearner> = {}) => {
  const contexts: LearnerContext[] = [];
  let weights: ModelWeights = new Map();
  let windows = 0;
  const learner: CustomLearner = {
    start: (context) => {
      contexts.push(context);
      weights = context.weights;
      if (context.restore !== null) windows = Number(readFileSync(join(context.restore, "windows.txt"), "utf8"));
    },
    update: () => {
      windows++;
      weights = new Map([...weights].map(([name, values]) => [name, values.map((value) => value + 0.01)]));
      return { applied: true, weights, metrics: { "actor/pg_loss": windows } };
    },
    save: (folder) => writeFileSync(join(folder, "windows.txt"), String(windows)),
    ...changes,
  };
  return { learner, contexts };
};

const metricsIn = (folder: string): readonly Readonly<Record<string, unknown>>[] =>
  readFileSync(join(folder, "metrics.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("a policy of one's own", () => {
  it("samples the run's replies and takes the weights that the built-in learner trains", async () => {
    const { adopted, policy, requests } = scripted();
    const { step } = await trainWith({ policy });
    expect(step).toBe(3);
    expect(adopted.map(([version]) => version)).toEqual([1, 2, 3]);
    const [, weights] = adopted[0]!;
    expect([...(weights ?? [])].every(([, values]) => values.length > 0)).toBe(true);
    expect(requests.every(({ maxTokens, prompt }) => maxTokens === 8 && prompt.length > 0)).toBe(true);
    // A second turn's prompt holds the first turn and its reply.
    expect(new Set(requests.map(({ prompt }) => prompt.length)).size).toBeGreaterThan(1);
  });

  it.each<[string, () => ReturnType<CustomPolicy["generate"]>, string]>([
    ["throws", () => Promise.reject(new Error("the server is gone")), "the policy's generate: the server is gone"],
    ["returns no ids", () => ({ ids: [], logProbs: [] }), "returned 0 ids; it is to be 1 to 8"],
    ["returns too few log-probabilities", () => ({ ids: [1, 2], logProbs: [0] }), "returned 1 logProbs for 2 ids"],
    ["returns NaN", () => ({ ids: [1], logProbs: [Number.NaN] }), "returned logProbs that are not finite"],
  ])("ends the run if it %s", async (_, generate, message) => {
    const error = await trainWith({ policy: { ...scripted().policy, generate } }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(PolicyError);
    expect(String(error)).toContain(message);
  });

  it("ends the run if adopt throws at once", async () => {
    const adopt = () => {
      throw new Error("no such format");
    };
    const error = await trainWith({ policy: { ...scripted().policy, adopt } }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(PolicyError);
    expect(String(error)).toContain("the policy's adopt: no such format");
  });

  it("is refused beside workers, which sample from the model", async () => {
    const withWorkers = configOf({ pipeline: { workers: { url: "nats://127.0.0.1:1" } } });
    const options = { signals: false, policy: scripted().policy };
    await expect(start(withWorkers, options)).rejects.toThrow("workers sample from the model");
  });

  it("is refused with a fixed lag, because it does not keep earlier versions", async () => {
    const lagged = configOf({ pipeline: { mode: "async", schedule: "fixed_lag" } });
    const options = { signals: false, policy: scripted().policy };
    await expect(start(lagged, options)).rejects.toThrow("pipeline.schedule: fixed_lag");
  });

  it("is refused without adopt beside the built-in learner", async () => {
    const { generate } = scripted().policy;
    const error = await start(configOf(), { signals: false, policy: { generate } }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BadInput);
    expect(String(error)).toContain("it has no adopt");
  });
});

describe("a learner of one's own", () => {
  it("gives the built-in generator its weights, and its metrics to the record", async () => {
    const { contexts, learner } = nudging();
    const { checkpoint, folder } = await trainWith({ learner });
    expect(contexts).toMatchObject([{ restore: null, version: 0 }]);
    const steps = metricsIn(folder).filter(({ step }) => Number(step) > 0);
    expect(steps.map((record) => [record["actor/pg_loss"], record["weights/version"]])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(existsSync(join(checkpoint ?? "", "model.safetensors"))).toBe(true);
  });

  it("goes on from its checkpoint, with the weights that it had given", async () => {
    const first = nudging();
    const { folder } = await trainWith({ learner: first.learner }, { trainer: { total_training_steps: 2 } });
    const second = nudging();
    await trainWith({ learner: second.learner, resume: folder }, { trainer: { total_training_steps: 4 } });
    const [context] = second.contexts;
    expect(context?.version).toBe(2);
    const [name, values] = [...(first.contexts[0]?.weights ?? [])][0]!;
    expect(context?.weights.get(name)?.[0]).toBeCloseTo((values[0] ?? 0) + 0.02, 5);
    expect(metricsIn(folder).at(-1)).toMatchObject({ "actor/pg_loss": 4, "weights/version": 4 });
  });

  it("makes no version where it says that nothing was applied", async () => {
    const { learner } = nudging({ update: () => ({ applied: false }) });
    const { folder } = await trainWith({ learner });
    expect(metricsIn(folder).at(-1)).toMatchObject({ "weights/version": 0 });
  });

  it.each<[string, Partial<CustomLearner>, string]>([
    ["throws", { update: () => Promise.reject(new Error("out of memory")) }, "the learner's update: out of memory"],
    ["gives no weights", { update: () => ({ applied: true }) }, "the generator of this run needs them"],
    ["lacks a tensor", { update: () => ({ applied: true, weights: new Map() }) }, "returned no weights for model."],
    [
      "gives advantages of another window",
      { update: () => ({ applied: false, advantages: Float32Array.of(1) }) },
      "1 advantages for",
    ],
  ])("ends the run if it %s", async (_, changes, message) => {
    const error = await trainWith({ learner: nudging(changes).learner }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(LearnerError);
    expect(String(error)).toContain(message);
  });

  it("is refused with a gradient analysis, which it does not make", async () => {
    const analysed = configOf({ trainer: { gradient_analysis_mode: true } });
    const options = { signals: false, learner: nudging().learner };
    await expect(start(analysed, options)).rejects.toThrow("trainer.gradient_analysis_mode: true");
  });
});
