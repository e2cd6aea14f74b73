/**
 * A sync run's numbers do not depend on how much runs at once. The test compares runs with real threads bit for bit.
 */
import { describe, it } from "@effect/vitest";
import { Clock, Duration, Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { Event } from "../../src/domain/Event.ts";
import type { Run } from "../../src/engine/Run.ts";
import { trainedRun } from "./trained.ts";

const windows = 3;

/** Room to change every concurrency, and several micro-batches for the lanes to share. */
const roomy = {
  trainer: { total_training_steps: windows, trajectory_freq: 0 },
  pipeline: { step_inline: false, step_threads: 2, step_concurrency: 1, rollout_concurrency: 1 },
  es_manager: { train: { env_groups: 3, n_groups: [3] } },
  actor: { micro_batch_tokens: 128 },
  model: { learner_lanes: 2 },
} satisfies Tree;

/** Trains a new run, `steer` told every event of it. */
const trained = (more: Tree = {}, steer?: (event: Event, run: Run) => void) => trainedRun(merge(roomy, more), steer);

/** Sets every concurrency to another value again and again: those of the rollouts in the middle of windows, the others between. */
const restless = (changesMade: Promise<void>[]) => {
  let changes = 0;
  return ({ _tag }: Event, run: Run): void => {
    const set = (stage: string, concurrency: number): void => {
      changesMade.push(Effect.runPromise(run.control({ _tag: "SetConcurrency", stage, concurrency }, "code")));
    };
    if (_tag === "Finished") {
      changes++;
      set("rollout", 1 + (changes % 3));
      set("generate", 1 + ((5 * changes) % 8));
      set("step", 1 + (changes % 2));
    }
    if (_tag === "Windowed") {
      set("score", 1 + (changes % 4));
      set("lanes", 1 + (changes % 2));
    }
  };
};

const speed = 400;

/** Time that passes faster, so that what takes minutes of a run is seen in seconds. */
const hurried = (clock: Clock.Clock): Clock.Clock => {
  const start = clock.monotonicTimeNanosUnsafe();
  const began = clock.currentTimeNanosUnsafe();
  const passed = (): bigint => BigInt(speed) * (clock.monotonicTimeNanosUnsafe() - start);
  const nanos = (): bigint => began + passed();
  const millis = (): number => Number(nanos() / 1_000_000n);
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: passed,
    monotonicTimeNanos: Effect.sync(passed),
    sleep: (duration) => clock.sleep(Duration.times(duration, 1 / speed)),
  };
};

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

describe("a sync run's parameters and metrics", () => {
  it.live(
    "are the same to the bit however its concurrencies change, by hand and by the autotuner",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const plain = yield* trained();
          expect(plain.records).toHaveLength(windows);
          expect(plain.controlled).toEqual([]);

          const changesMade: Promise<void>[] = [];
          const changed = yield* trained({}, restless(changesMade));
          yield* Effect.promise(() => Promise.all(changesMade));
          const stages = changed.controlled.map(({ control }) => "stage" in control && control.stage);
          expect(new Set(stages)).toEqual(new Set(["rollout", "generate", "step", "score", "lanes"]));
          expect([changed.hash, changed.records]).toEqual([plain.hash, plain.records]);

          const pipeline = { autotune: true, step_timeout_ms: speed * 60_000, stall_ms: speed * 60_000 };
          const tuned = yield* Effect.flatMap(Clock.Clock, (clock) =>
            Effect.provideService(trained({ pipeline, metrics: { sample_ms: 1000 } }), Clock.Clock, hurried(clock)),
          );
          expect(new Set(tuned.controlled.map(({ by }) => by))).toEqual(new Set(["autotune"]));
          expect([tuned.hash, tuned.records]).toEqual([plain.hash, plain.records]);
        }),
      ),
    patience,
  );
});
