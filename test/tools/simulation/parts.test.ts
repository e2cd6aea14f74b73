/** The parts of a run in virtual time beside calls and windows: generator threads, batches of steps, lanes, cores, gauges and changes. */
import { expect, it } from "vitest";
import type { RunSample, RunShape } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";

const shape: RunShape = {
  mode: "sync",
  groups: 2,
  groupSize: 4,
  windows: 3,
  maxStaleness: 0,
  order: "admission",
  rolloutConcurrency: 2,
  episodes: 8,
  generateSlots: 8,
  stepSlots: 8,
  turns: 2,
  generate: () => 3,
  step: () => 5,
  inbox: 8,
  update: () => 7,
};
const everyWindow = (ms: number) => [1, 2, 3].map((window) => window * ms);

it("takes a decode step for each token of a reply, for all rows of a thread at once", () => {
  const generators = { threads: 1, slots: 8, tokens: () => 10, decode: (rows: number) => 1 + rows };
  expect(run({ ...shape, generators }).consumedAt).toEqual(everyWindow(2 * (10 * 9 + 5) + 7));
  expect(run({ ...shape, generators: { ...generators, threads: 2 } }).consumedAt).toEqual(
    everyWindow(2 * (10 * 5 + 5) + 7),
  );
});

it("feeds the prompts of a step's rows together, and samples their first token by it", () => {
  const generators = {
    threads: 1,
    slots: 8,
    tokens: () => 10,
    decode: () => 1,
    prompt: () => 6,
    prefill: (tokens: number) => tokens,
  };
  expect(run({ ...shape, generators }).consumedAt).toEqual(everyWindow(2 * (48 + 9 + 5) + 7));
});

it("serves the steps of a batch one after the other and answers them together", () => {
  const given = { ...shape, stepSlots: 2, stepBatches: { threads: 4, cap: 64 } };
  expect(run(given).consumedAt).toEqual(everyWindow(2 * (3 + 4 * 5) + 7));
});

it("shares micro-batches among lanes, and lanes share cores", () => {
  const learner = { lanes: 2, micros: () => 4, micro: () => 10, rest: () => 1 };
  const rollouts = 2 * (3 + 5);
  expect(run({ ...shape, learner }).consumedAt).toEqual(everyWindow(rollouts + 1 + 20));
  expect(run({ ...shape, learner, cores: 1 }).consumedAt).toEqual(everyWindow(rollouts + 1 + 40));
});

it("has a step closed before the next window is learned", () => {
  const waits = { ...shape, mode: "async" as const, maxStaleness: 2, close: () => 100 };
  const { consumedAt } = run(waits);
  expect(consumedAt[2]! - consumedAt[1]!).toBe(107);
});

it("changes a setting at its time", () => {
  const slow: RunShape = { ...shape, windows: 2, generateSlots: 1 };
  const changes = [{ at: run(slow).consumedAt[0]!, setting: "generate" as const, value: 8 }];
  const [first, second] = run({ ...slow, changes }).consumedAt;
  expect(second! - first!).toBe(2 * (3 + 5) + 7);
});

it("measures its stages as the engine's gauges do: shares are the whole slot-time, and every item is counted", () => {
  const samples: RunSample[] = [];
  const observer = { everyMs: 1, onSample: (sample: RunSample) => void samples.push(sample) };
  run({ ...shape, generateSlots: 3, observer });
  const last = samples.at(-1)!;
  expect(last.stages.map(({ name }) => name)).toEqual([
    "rollout",
    "window",
    "score",
    "filter",
    "learn",
    "close",
    "generate",
    "step",
  ]);
  for (const { blockedMs, busyMs, concurrency, elapsedMs, starvedMs } of last.stages) {
    expect(busyMs + blockedMs + starvedMs).toBeCloseTo(concurrency * elapsedMs, 6);
  }
  const items = new Map(last.stages.map(({ items, name }) => [name, items]));
  expect([items.get("rollout"), items.get("generate"), items.get("step"), items.get("filter")]).toEqual([6, 48, 48, 3]);
  expect(last.stages.find(({ name }) => name === "generate")!.busyMs).toBeCloseTo(48 * 3, 6);
});
