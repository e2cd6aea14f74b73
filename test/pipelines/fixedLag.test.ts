/**
 * An async run with a fixed lag computes the same bits at any speed, with any number of threads, and after a kill or a stop. The test compares
 * runs with real threads: their parameters, metrics, and the ids that they trained on.
 */
import { createHash } from "node:crypto";
import { cpSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { Event } from "../../src/domain/Event.ts";
import type { Run } from "../../src/engine/Run.ts";
import type { RewardFunction } from "../../src/engine/reward.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { collected } from "../warnings.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";
import { computedRecords } from "./trained.ts";

const windows = 5;
const lag = 2;

/** Refills of windows whose groups do not vary, a critic, several micro-batches, and a validation after every second step. */
const lagged = {
  trainer: { total_training_steps: windows, trajectory_freq: 1, save_freq: 1, test_freq: 2 },
  pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: lag },
  es_manager: { train: { env_groups: 3, n_groups: [3] } },
  filter: { strategy: "top_k", value: 0.5, include_zero: false, refill: { target: 3, rounds: 1 } },
  actor: { micro_batch_tokens: 128 },
} satisfies Tree;

/** A reward that random text earns now and then, so that the filter has windows to refill and to leave empty. */
const reward: RewardFunction = ({ sequences }) => {
  const ids = sequences.flatMap(({ turns }) => turns).flatMap(({ sampled }) => [...sampled.ids]);
  return ids.reduce((sum, id) => sum + id, 0) % 4 === 0 ? 1 : 0;
};

type Steer = (event: Event, run: Run) => void;

interface TrainOptions {
  readonly changes?: Tree;
  readonly resume?: string | null;
  readonly steer?: Steer;
}

/** Metrics of what is in flight when a step closes, which a faster generator makes more. */
const isOfInFlight = (name: string): boolean => name.startsWith("ledger/");

const lines = (folder: string, name: string) =>
  Effect.promise(async () => (await readFile(join(folder, name), "utf8")).trimEnd().split("\n"));

const digest = (texts: readonly string[]): string => createHash("sha256").update(texts.join("\n")).digest("hex");

/** Trains over the files in `dir` until the run ends in any way; returns its folder. */
const trainUntilStop = Effect.fnUntraced(function* (dir: string, { changes = {}, resume = null, steer }: TrainOptions) {
  let folder = resume ?? "";
  const onStart = (run: Run): void => {
    folder = run.folder;
    if (steer !== undefined) run.events$.subscribe((event) => steer(event, run));
  };
  yield* train({ config: tinyConfig(dir, merge(lagged, changes)), resume, parts: { reward, onStart } });
  return folder;
});

/** The same to the last window, with what the run's folder says at its end. */
const trainIn = Effect.fnUntraced(function* (dir: string, options: TrainOptions) {
  const folder = yield* trainUntilStop(dir, options);
  const trajectories = yield* lines(folder, "trajectories.jsonl");
  const records = computedRecords(yield* lines(folder, "metrics.jsonl"));
  return {
    hash: yield* parameterHash(join(folder, "checkpoints", `step-${windows}`)),
    records: records.map((record) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => !isOfInFlight(name))),
    ),
    trained: digest(trajectories.filter((line) => line.includes('"split":"train"'))),
    validated: digest(trajectories.filter((line) => line.includes('"split":"val"'))),
    folder,
  };
});

/** Copies a run's folder as a kill right after its checkpoint of a step leaves it. */
const killedAt =
  (step: number, copy: string): Steer =>
  (event, run) => {
    if (event._tag !== "CheckpointWritten" || event.step !== step) return;
    cpSync(run.folder, copy, { recursive: true });
    rmSync(join(copy, "lock"));
  };

/** Changes under which a run with a fixed lag does not go on, and a part of why. */
const refusedChanges: readonly (readonly [Tree, string])[] = [
  [{ pipeline: { schedule: "free_running" } }, "nearest: fixed_lag"],
  [{ pipeline: { max_staleness: 3 } }, "nearest: 2"],
  [{ es_manager: { train: { env_groups: 4, n_groups: [4] } } }, "nearest"],
];

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

describe("a run with a fixed lag", () => {
  it.live(
    "computes the same bits at any speed, with more threads, and after a kill or a stop",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const copy = join(yield* temporaryFolder, "killed");
          const { folder, ...plain } = yield* trainIn(dir, { steer: killedAt(3, copy) });
          expect(folder).not.toBe("");
          const staleness = plain.records.map((record) => record["staleness/mean"]);
          expect(staleness).toEqual(Array.from({ length: windows }, (_, window) => Math.min(window, lag)));
          expect(plain.records.every((record) => record["train/rollout_attempts"] === 2)).toBe(true);

          const slow = { pipeline: { rollout_concurrency: 1 }, generation: { slots: 2 } };
          expect(yield* trainIn(dir, { changes: slow })).toMatchObject(plain);
          for (const [changes, message] of refusedChanges) {
            const error = yield* Effect.flip(trainIn(dir, { changes, resume: copy }));
            expect(error).toMatchObject({ _tag: "BadInput", message: expect.stringContaining(message) });
          }
          const threads = { model: { generator_threads: 2, learner_lanes: 2 } };
          expect(yield* trainIn(dir, { changes: threads, resume: copy })).toMatchObject(plain);

          let stopped = "";
          const stop: Steer = (event, run) => {
            stopped = run.folder;
            if (event._tag === "Learning" && event.window === 1) Effect.runFork(run.stop);
          };
          yield* trainUntilStop(dir, { changes: threads, steer: stop });
          // A stop leaves out the validation of its step, and nothing else.
          const { hash, trained } = plain;
          expect(yield* trainIn(dir, { resume: stopped })).toMatchObject({ hash, trained });
        }),
      ),
    patience,
  );

  it.live(
    "of no windows is a sync run",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const plain = { trainer: { test_freq: 0 }, filter: { refill: { target: 0 } } };
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const { hash, trained } = yield* trainIn(dir, {
            changes: merge(plain, { pipeline: { mode: "sync", schedule: "free_running" } }),
          });
          const noLag = yield* trainIn(dir, { changes: merge(plain, { pipeline: { max_staleness: 0 } }) });
          expect(noLag).toMatchObject({ hash, trained });
        }),
      ),
    patience,
  );

  it.live(
    "goes on with the adapters of earlier versions, which its checkpoint holds",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const copies = yield* temporaryFolder;
          const [copy, damaged] = [join(copies, "killed"), join(copies, "damaged")];
          const changes = { model: { lora: { rank: 4, alpha: 8 } } };
          const { folder, ...plain } = yield* trainIn(dir, { changes, steer: killedAt(4, copy) });
          expect(folder).not.toBe("");
          cpSync(copy, damaged, { recursive: true });
          expect(yield* trainIn(dir, { changes, resume: copy })).toMatchObject(plain);

          rmSync(join(damaged, "checkpoints", "step-4", "earlier.safetensors"));
          const { layer, lines } = collected();
          expect(yield* Effect.provide(trainIn(dir, { changes, resume: damaged }), layer)).toMatchObject(plain);
          expect(lines[0]).toContain("earlier.safetensors");
        }),
      ),
    patience,
  );
});
