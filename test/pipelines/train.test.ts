import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import type { Tree } from "../../src/config/Tree.ts";
import type { RunOutcome } from "../../src/domain/RunOutcome.ts";
import { latest } from "../../src/observe/record/Checkpoints.ts";
import type { Sink } from "../../src/observe/sinks/Sink.ts";
import * as Manifest from "../../src/support/files/Manifest.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { plant } from "../learner/plant.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { interrupt, onThread, parameterHash, train, writeModel } from "./tiny.ts";

const place = Effect.tap(temporaryFolder, writeModel);

const runsIn = (dir: string) =>
  Effect.promise(async () => {
    const parent = join(dir, "runs", "tiny");
    return (await readdir(parent)).sort().map((name) => join(parent, name));
  });

/** Trains a new run of `dir` and gives its folder. */
const trained = Effect.fnUntraced(function* (dir: string, changes: Tree = {}) {
  yield* train({ config: tinyConfig(dir, changes), resume: null });
  return (yield* runsIn(dir)).at(-1)!;
});

const steps = (folder: string) =>
  Effect.promise(async () => {
    const lines = (await readFile(join(folder, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
    return lines.map((line): Record<string, number> => JSON.parse(line));
  });

/** At a learning rate that no run file may have. */
const atRate = (config: RunConfig, lr: number): RunConfig => ({ ...config, actor: { ...config.actor, lr } });

const checkpoint = (folder: string, step: number) => join(folder, "checkpoints", `step-${step}`);

/** Milliseconds on a machine that others use too; a second or two on a quiet one. */
const patience = 240_000;

describe("a sync run with real threads", () => {
  it.live(
    "is bit-reproducible, also when it is stopped and goes on with more generator threads",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const [first, second] = [yield* place, yield* place];
          const whole = yield* trained(first);
          const end = yield* parameterHash(checkpoint(whole, 3));

          const before = process.listeners("SIGINT");
          // The learner answers its start, then the update of each window.
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* onThread("learner", (_, message) => {
                if (message === 2) interrupt(before);
              });
              yield* trained(second);
            }),
          );
          const [stopped] = yield* runsIn(second);
          expect((yield* latest(join(stopped!, "checkpoints"))).state).toMatchObject({
            step: 1,
            position: { version: 1 },
          });
          expect(yield* parameterHash(checkpoint(stopped!, 1))).not.toBe(end);

          const wider = tinyConfig(second, { model: { generator_threads: 2 } });
          yield* train({ config: wider, resume: stopped! });
          expect(yield* parameterHash(checkpoint(stopped!, 3))).toBe(end);
          const written = yield* Effect.promise(() => readFile(join(stopped!, "config.yaml"), "utf8"));
          expect(written).toContain("generator_threads: 2");
          const [records, resumed] = [yield* steps(whole), yield* steps(stopped!)];
          expect(resumed.map(({ step }) => step)).toEqual([1, 2, 3]);
          for (const key of ["train/response_length", "train/entropy", "actor/pg_loss", "actor/grad_norm"]) {
            expect(records[0]).toHaveProperty([key]);
            expect(resumed.map((record) => record[key])).toEqual(records.map((record) => record[key]));
          }
          expect(records.map((record) => record["staleness/max"])).toEqual([0, 0, 0]);
        }),
      ),
    patience,
  );
});

describe("an async run with real threads", () => {
  it.live(
    "finishes with balanced books, one record a step, and what it played",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const folder = yield* trained(dir, {
            trainer: { test_freq: 2, val_at_end: true, val_before_train: true, total_training_steps: 4 },
            pipeline: { mode: "async", max_staleness: 1, step_inline: false },
          });
          const records = yield* steps(folder);
          expect(records.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
          expect(records.flatMap((record) => ("val-env/success" in record ? [record.step] : []))).toEqual([0, 2, 4]);
          for (const record of records.slice(1)) {
            const ledger = (name: string): number => record[`ledger/${name}`]!;
            const ends =
              ledger("trained") + ledger("filtered") + ledger("failed") + ledger("dropped") + ledger("in_flight");
            expect(ledger("admitted")).toBe(ends);
          }
          expect(records.at(-1)).toMatchObject({ "ledger/admitted": 8, "ledger/in_flight": 0, "weights/version": 4 });
          expect(records.at(-1)).toMatchObject({ "step/lost_threads": 0, "step/hung_seconds": 0 });
          const { state } = yield* latest(join(folder, "checkpoints"));
          expect(state).toMatchObject({
            step: 4,
            position: { version: 4 },
            ledger: { groups: { admitted: 8, dropped: 0 } },
          });
          const trajectories = yield* Effect.promise(() => readFile(join(folder, "trajectories.jsonl"), "utf8"));
          const first = JSON.parse(trajectories.split("\n")[0]!);
          expect(first.turns[0].ids.length).toBe(first.turns[0].mu.length);
        }),
      ),
    patience,
  );
});

describe("a run whose numbers are not finite", () => {
  it.live(
    "fails with the last good checkpoint, from which a lower rate goes on",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const closed: RunOutcome[] = [];
          const sink: Sink = {
            name: "told",
            essential: false,
            open: () => Effect.void,
            step: () => Effect.void,
            close: (outcome) => Effect.sync(() => void closed.push(outcome)),
          };
          const trainer = { total_training_steps: 9, max_skipped_updates: 2, max_checkpoints: 1 };
          const config = atRate(tinyConfig(dir, { trainer }), 1e308);
          const failure = yield* Effect.flip(train({ config, resume: null, parts: { sinks: [sink] } }));
          expect(failure).toMatchObject({ _tag: "LearnerError", reason: "not_finite" });
          const [folder] = yield* runsIn(dir);
          const { path, state } = yield* latest(join(folder!, "checkpoints"));
          expect(failure.message).toBe(
            "2 updates in a row, from step 1 on, could not be applied (not finite: the policy's new parameters); " +
              `lower actor.lr (1e+308) or actor.grad_clip (1); the last good checkpoint is ${path}`,
          );
          expect(state).toMatchObject({ step: 2, position: { version: 0 }, skipped: { since: 1, count: 2 } });
          expect(closed).toEqual([{ _tag: "Failed", message: failure.message }]);
          const start = yield* Effect.promise(() => readFile(join(dir, "model", "model.safetensors")));
          const kept = yield* Effect.promise(() => readFile(join(path, "model.safetensors")));
          expect(kept.equals(start)).toBe(true);
          const [first, second] = yield* steps(folder!);
          expect([first, second].map((record) => record?.["train/consecutive_skipped_updates"])).toEqual([1, 2]);
          expect(Object.values(second!).every(Number.isFinite)).toBe(true);

          yield* train({ config: tinyConfig(dir), resume: folder! });
          expect((yield* latest(join(folder!, "checkpoints"))).state).toMatchObject({
            step: 3,
            position: { version: 1 },
            skipped: null,
          });
        }),
      ),
    patience,
  );

  it.live(
    "fails where the weights are finite and too large to compute with",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const config = atRate(tinyConfig(dir, { trainer: { save_freq: 1 } }), 1e12);
          const failure = yield* Effect.flip(train({ config, resume: null }));
          expect(failure).toMatchObject({ reason: "not_finite" });
          const [folder] = yield* runsIn(dir);
          // Such weights are never saved, whichever thread finds out first.
          const names = yield* Effect.promise(() => readdir(join(folder!, "checkpoints")));
          expect(names.filter((name) => !name.endsWith(".partial"))).toEqual([]);
          expect(failure.message).toContain("; no checkpoint was written before");
        }),
      ),
    patience,
  );

  it.live(
    "does not begin from a file that holds one",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const folder = yield* trained(dir, { trainer: { total_training_steps: 1 } });
          const nan = 0x7fc00000;
          const optimiser = join(checkpoint(folder, 1), "optimiser.safetensors");
          yield* plant(optimiser, "actor.second", 7, nan);
          yield* Effect.promise(() => rm(join(checkpoint(folder, 1), "manifest.json")));
          yield* Manifest.seal(checkpoint(folder, 1));
          const resumed = yield* Effect.flip(train({ config: tinyConfig(dir), resume: folder }));
          expect(resumed).toMatchObject({ _tag: "BadInput" });
          expect(resumed.message).toContain(`${optimiser}: tensor "actor.second" holds NaN at index 7`);

          const model = join(dir, "model", "model.safetensors");
          yield* plant(model, "model.norm.weight", 0, nan);
          const started = yield* Effect.flip(trained(dir));
          expect(started).toMatchObject({ _tag: "BadInput" });
          expect(started.message).toContain(`${model}: tensor "model.norm.weight" holds NaN at index 0`);
          expect(yield* runsIn(dir)).toHaveLength(1);
        }),
      ),
    patience,
  );
});

describe("a thread that dies", () => {
  const cases = [
    { name: "learner", error: "LearnerError" },
    { name: "generator-0", error: "PolicyError" },
  ];
  it.live.each(cases)(
    "fails the run with a typed error at once and leaves a whole checkpoint: $name",
    ({ name, error }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const workers = new Map<string, Worker>();
          yield* onThread("", (worker) => workers.set(worker.threadName ?? "", worker));
          // Answers of the learner: start, version, update and save of the first window, then the second's update: the first checkpoint
          // is whole by then, the second may be.
          yield* onThread("learner", (_, message) => {
            if (message === 5) void workers.get(name)?.terminate();
          });
          const config = { trainer: { save_freq: 1, total_training_steps: 1000, max_restarts: 0 } };
          const failure = yield* Effect.flip(trained(dir, config));
          expect(failure).toMatchObject({ _tag: error, reason: "thread_died" });
          const [folder] = yield* runsIn(dir);
          const { path, state } = yield* latest(join(folder!, "checkpoints"));
          // The files of the save that death cut short lie beside, under another name.
          const names = yield* Effect.promise(() => readdir(join(folder!, "checkpoints")));
          expect(names).toContain(`step-${state.step}`);
          expect(state.position.version).toBe(state.step);
          expect(yield* parameterHash(path)).toMatch(/^[0-9a-f]{64}$/);
        }),
      ),
  );
});

describe("bad input", () => {
  const message = Effect.fnUntraced(function* (dir: string, resume: string | null = null, changes: Tree = {}) {
    const error = yield* Effect.flip(train({ config: tinyConfig(dir, changes), resume }));
    expect(error._tag).toBe("BadInput");
    return error.message;
  });

  it.live(
    "is a runs folder that cannot be written, before any thread starts",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          yield* Effect.promise(() => writeFile(join(dir, "runs"), "a file"));
          const threads: string[] = [];
          yield* onThread("", ({ threadName }) => threads.push(threadName ?? ""));
          expect(yield* message(dir)).toContain(join(dir, "runs", "tiny"));
          expect(threads).toEqual([]);
        }),
      ),
    patience,
  );

  it.live(
    "is a folder to resume that is no run, or holds no checkpoint",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          expect(yield* message(dir, join(dir, "nothing"))).toContain(join(dir, "nothing", "config.yaml"));
          const folder = join(dir, "empty");
          yield* Effect.promise(() => mkdir(join(folder, "checkpoints"), { recursive: true }));
          yield* Effect.promise(() => writeFile(join(folder, "config.yaml"), ""));
          expect(yield* message(dir, folder)).toBe(`${join(folder, "checkpoints")} holds no checkpoint to resume from`);
        }),
      ),
    patience,
  );

  it.live(
    "is a checkpoint with a missing or a truncated file, which it names",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const folder = yield* trained(dir, { trainer: { total_training_steps: 1 } });
          const kept = join(dir, "kept");
          yield* Effect.promise(() => cp(checkpoint(folder, 1), kept, { recursive: true }));
          const damaged = Effect.fnUntraced(function* (file: string, damage: (path: string) => Promise<void>) {
            const path = join(checkpoint(folder, 1), file);
            yield* Effect.promise(() => damage(path));
            expect(yield* message(dir, folder, { trainer: { total_training_steps: 2 } })).toContain(path);
            yield* Effect.promise(() => cp(join(kept, file), path));
          });
          yield* damaged("model.safetensors", (path) => truncate(path, 100));
          yield* damaged("optimiser.safetensors", (path) => truncate(path, 100));
          yield* damaged("critic.safetensors", (path) => rm(path));
          yield* train({ config: tinyConfig(dir, { trainer: { total_training_steps: 2 } }), resume: folder });
          expect((yield* latest(join(folder, "checkpoints"))).state.step).toBe(2);
        }),
      ),
    patience,
  );
});
