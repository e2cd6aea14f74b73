/**
 * Checkpoints of a run, `checkpoints/step-N/`: a Hugging Face folder plus the learner's and the run's state. Each is written beside
 * under a temporary name and renamed when whole, so the last good one is never touched; the newest N are kept.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Effect, Schema } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { replaceFolder, replaceText } from "../files/AtomicWrite.ts";
import { FileError } from "../files/FileError.ts";
import { CheckpointError } from "../policy/checkpoint/CheckpointError.ts";

const Counts = Schema.Struct({
  admitted: Schema.Int,
  trained: Schema.Int,
  filtered: Schema.Int,
  failed: Schema.Int,
  dropped: Schema.Int,
});

/** What a run needs beside the learner's own state to go on at a step boundary. */
export const RunState = Schema.Struct({
  /** Windows consumed. */
  step: Schema.Int,
  /** The weights' version. */
  version: Schema.Int,
  /** The seed schedule; groups in flight when the checkpoint was made are given back to it. */
  seeds: Schema.Struct({ next: Schema.Int, returned: Schema.Array(Schema.Int) }),
  /** Consecutive windows whose selection was empty. */
  emptyInARow: Schema.Int,
  /** The books, with the groups in flight counted as dropped. */
  ledger: Schema.Struct({ groups: Counts, tokens: Counts }),
  /** Seconds of training so far. */
  seconds: Schema.Finite,
});
export type RunState = typeof RunState.Type;

const isFileError = (error: unknown): error is CheckpointError | FileError =>
  error instanceof CheckpointError || error instanceof FileError;

const disk = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, BadInput> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new BadInput({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  });

const stepOf = (name: string): number | null => {
  const match = /^step-(\d+)$/.exec(name);
  return match === null ? null : Number(match[1]);
};

/** Steps that have a whole checkpoint, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], BadInput> =>
  disk(`cannot read ${folder}`, () => readdir(folder)).pipe(
    Effect.map((names) =>
      names
        .map(stepOf)
        .filter((step) => step !== null)
        .sort((a, b) => a - b),
    ),
  );

export const path = (folder: string, step: number): string => join(folder, `step-${step}`);

/**
 * Writes `step-N` through `write` (which fills an existing empty folder) and the run's state, renames it into place when whole and
 * removes all but the newest `keep`, and what a killed run left half-written. Fails with BadInput on disk errors; what was there stays then.
 */
export const save = <E, R>(
  folder: string,
  state: RunState,
  keep: number,
  write: (into: string) => Effect.Effect<void, E, R>,
): Effect.Effect<string, E | BadInput, R> =>
  Effect.gen(function* () {
    const target = path(folder, state.step);
    yield* replaceFolder(target, (partial) =>
      Effect.andThen(write(partial), replaceText(join(partial, "run.json"), JSON.stringify(state))),
    ).pipe(Effect.mapError((error) => (isFileError(error) ? new BadInput({ message: error.message }) : error)));
    const names = yield* disk(`cannot read ${folder}`, () => readdir(folder));
    for (const stray of names.filter((name) => name.endsWith(".partial"))) {
      yield* disk(`cannot remove ${stray}`, () => rm(join(folder, stray), { recursive: true, force: true }));
    }
    const steps = yield* list(folder);
    for (const old of steps.slice(0, Math.max(0, steps.length - keep))) {
      yield* disk(`cannot remove ${path(folder, old)}`, () => rm(path(folder, old), { recursive: true, force: true }));
    }
    return target;
  });

/** The newest checkpoint's path and run state. Fails with BadInput when there is none or it cannot be read. */
export const latest = Effect.fnUntraced(function* (folder: string) {
  const steps = yield* list(folder);
  const step = steps.at(-1);
  if (step === undefined) return yield* new BadInput({ message: `${folder} holds no checkpoint to resume from` });
  const file = join(path(folder, step), "run.json");
  const text = yield* disk(`cannot read ${file}`, () => readFile(file, "utf8"));
  const state = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(RunState))(text).pipe(
    Effect.mapError((error) => new BadInput({ message: `${file} is not a run's state: ${error.message}` })),
  );
  return { path: path(folder, step), state };
});

/**
 * Fails with BadInput where a run cannot go on from `state` under `config`: windows are numbered by their groups, so the groups of
 * the windows consumed, and of those to come, must be the ones that the configuration cuts.
 */
export const checkResumable = (
  { es_manager, pipeline }: RunConfig,
  { step, seeds }: RunState,
): Effect.Effect<void, BadInput> => {
  const size = es_manager.train.env_groups;
  const consumed = seeds.next - seeds.returned.length;
  const bad = (message: string) => Effect.fail(new BadInput({ message }));
  if (consumed !== step * size) {
    return bad(
      `es_manager.train.env_groups: ${size}: the run consumed ${consumed} groups in ${step} windows; nearest: ${consumed / step}`,
    );
  }
  if (pipeline.window_order === "admission" && seeds.returned.some((group) => group < consumed)) {
    return bad('pipeline.window_order: "admission": the run forms its windows as groups finish; nearest: completion');
  }
  return Effect.void;
};
