/**
 * Checkpoints of a run, `checkpoints/step-N/`: a Hugging Face folder plus the learner's and the run's state. Each is written beside
 * under a temporary name and renamed when whole, so the last good one is never touched; the newest N are kept.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { BadInput } from "../domain/Errors.ts";

/** What a run needs beside the learner's own state to go on at a step boundary. */
export const RunState = Schema.Struct({
  /** Windows consumed. */
  step: Schema.Int,
  /** Next group id. */
  nextGroup: Schema.Int,
  /** Groups admitted, not consumed, when the checkpoint was made: issued again on resume. */
  reissue: Schema.Array(Schema.Int),
  /** Consecutive windows whose selection was empty. */
  emptyWindows: Schema.Int,
  ledger: Schema.Unknown,
});
export type RunState = typeof RunState.Type;

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
 * Writes `step-N` through `write` (which fills an existing empty folder), adds the run's state, renames it into place and removes all
 * but the newest `keep`. Fails with BadInput on disk errors; the temporary folder is removed then.
 */
export const save = <E, R>(
  folder: string,
  state: RunState,
  keep: number,
  write: (into: string) => Effect.Effect<void, E, R>,
): Effect.Effect<string, E | BadInput, R> => {
  const temporary = join(folder, `.step-${state.step}.partial`);
  const target = path(folder, state.step);
  return Effect.gen(function* () {
    yield* disk(`cannot write ${temporary}`, () => rm(temporary, { recursive: true, force: true }));
    yield* disk(`cannot write ${temporary}`, () => mkdir(temporary, { recursive: true }));
    yield* write(temporary);
    yield* disk(`cannot write ${temporary}`, () => writeFile(join(temporary, "run.json"), JSON.stringify(state)));
    yield* disk(`cannot replace ${target}`, () => rm(target, { recursive: true, force: true }));
    yield* disk(`cannot rename to ${target}`, () => rename(temporary, target));
    const steps = yield* list(folder);
    for (const old of steps.slice(0, Math.max(0, steps.length - keep))) {
      yield* disk(`cannot remove ${path(folder, old)}`, () => rm(path(folder, old), { recursive: true, force: true }));
    }
    return target;
  }).pipe(Effect.onError(() => Effect.ignore(disk("clean", () => rm(temporary, { recursive: true, force: true })))));
};

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
