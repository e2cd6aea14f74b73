/**
 * Writes the folder of a run with every kind of record, for the proof beside it: steps, a record of 100 kB, records around the end of a
 * block, notices, system metrics, both tables and numbers that are not finite. `killed` leaves the end out, `resumed` goes on from step 4.
 *
 * Usage: node bench/peers/wandb/write.ts FOLDER [whole|killed|resumed]
 */
import { Effect } from "effect";
import type { EpisodeRecord } from "../../../src/domain/EpisodeRecord.ts";
import { metric } from "../../../src/domain/metrics/Metric.ts";
import type { RunInfo } from "../../../src/observe/sinks/Sink.ts";
import { make } from "../../../src/observe/sinks/wandb/Wandb.ts";
import { episodeRecord } from "../../../test/build/records.ts";

const [folder, how = "whole"] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node bench/peers/wandb/write.ts FOLDER [whole|killed|resumed]");
const from = how === "resumed" ? 4 : 0;
const started = Date.now() - 200_000;
const steps = 60;

const run: RunInfo = {
  name: "proof",
  folder,
  mode: "async, max staleness 2",
  seed: 7,
  from,
  alarms: [],
  steps,
  window: { groups: 8, groupSize: 16, order: "admission" },
  started,
  config: {
    run: { name: "proof", seed: 7 },
    trainer: { total_training_steps: steps },
    note: "x".repeat(100_000),
    odd: Number.NaN,
  },
};

const episode = (split: "train" | "val", step: number, group: number, member: number): EpisodeRecord =>
  episodeRecord({
    step,
    split,
    group,
    member,
    seed: 100 + group,
    success: member === 0,
    reward: member === 0 ? 10.9 : -0.1,
    outcome: { _tag: "Done", success: member === 0 },
    ...(split === "train" ? { verdict: "kept", groupScore: 1.5, score: 0.7 } : {}),
    messages: [
      { role: "user", content: "#####\n#_P_#\n#_X_#\n#_O_#" },
      { role: "assistant", content: "<think>below ✓</think><answer>Down</answer>" },
    ],
    turns: [],
  });

const episodes = (split: "train" | "val", step: number): readonly EpisodeRecord[] =>
  [0, 1].flatMap((member) => [episode(split, step, step, member)]);

const values = (step: number): ReadonlyMap<ReturnType<typeof named>, number> =>
  new Map([
    [named("train/success"), 1 - 1 / (step + 1)],
    [named("actor/pg_loss"), -0.5 / (step + 1)],
    [named("critic/vf_loss"), step === 3 ? Number.NaN : step === 5 ? Number.POSITIVE_INFINITY : 0.25],
    [named("stage/rollout/busy"), 0.5],
    [named("val-env/SimpleSokoban/success"), 0.25],
    [named("custom/of.a.user"), step],
    // Lengths that differ by one put the ends of records at every place near the end of a block.
    ...Array.from({ length: 60 }, (_, index) => [named(`pad/${"y".repeat(step % 11)}${index}`), index / 3] as const),
  ]);
const named = (name: string) => metric(name, "mean", "1", "").name;

const sink = make({
  config: {
    mode: "offline",
    project: "millrace",
    entity: "team",
    group: "proofs",
    tags: ["a", "b c"],
    base_url: "https://api.wandb.ai",
    group_tables: false,
    train_episodes: 16,
  },
  apiKey: null,
  version: "0.1.0",
  machine: { host: "proof", os: "linux", cpus: 2, memoryBytes: 8 * 2 ** 30 },
});

const sample = (elapsedMs: number) => ({
  elapsedMs,
  stages: [],
  tokens: { generated: elapsedMs * 3, trained: 0 },
  groupsInFlight: 3,
  process: { cpuMs: elapsedMs, rssBytes: 2 ** 29, heapBytes: 2 ** 27, loopLagMs: { p99: 4, max: 9 } },
});

const last = how === "killed" ? 7 : steps;
await Effect.runPromise(
  Effect.gen(function* () {
    yield* sink.open(run);
    yield* sink.gauges?.(sample(0)) ?? Effect.void;
    for (let step = from === 0 ? 0 : from + 1; step <= last; step++) {
      if (step % 5 === 0) yield* sink.episodes?.(episodes("val", step)) ?? Effect.void;
      yield* sink.episodes?.(episodes("train", step)) ?? Effect.void;
      if (step % 10 === 9)
        yield* sink.event?.({ _tag: "CheckpointWritten", step, folder: `checkpoints/step-${step}` }) ?? Effect.void;
      yield* sink.step({ step, time: run.started + step * 3000, metrics: values(step) });
      yield* sink.gauges?.(sample(step * 3000)) ?? Effect.void;
    }
    if (how !== "killed") yield* sink.close({ _tag: "Completed" });
  }),
);
