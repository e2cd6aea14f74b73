/**
 * Checkpoints of a cloning run, `step-N/` in a folder: the learner's own state and how many steps it has taken. Each is written beside
 * under a temporary name and renamed when whole; then those before it are removed.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { SkippedUpdates } from "../domain/SkippedUpdates.ts";
import { replaceFolder, replaceText } from "../files/AtomicWrite.ts";
import * as StepFolders from "../files/StepFolders.ts";
import { type CheckpointError, checkpointError, ofFile } from "../policy/checkpoint/CheckpointError.ts";
import { readJsonObject } from "../policy/checkpoint/TokenizerFiles.ts";
import type { Progress } from "./Cloning.ts";

const STATE = "cloning.json";
/** The layout that is written and read. */
const SCHEMA = 1;

const State = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  /** Optimiser steps taken. */
  step: Schema.Int,
  /** Those in a row, up to the last one, that were not applied. */
  skipped: Schema.NullOr(SkippedUpdates).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
});

export interface CloningCheckpoint {
  /** A Hugging Face folder with the learner's state beside it. */
  readonly path: string;
  readonly progress: Progress;
}

/** Writes the checkpoint of `progress` through `write`, which fills an existing empty folder, and removes those before it. Resolves to its path. */
export const save = <E>(
  folder: string,
  progress: Progress,
  write: (into: string) => Effect.Effect<void, E>,
): Effect.Effect<string, E | CheckpointError> =>
  Effect.gen(function* () {
    const path = StepFolders.path(folder, progress.step);
    const state: typeof State.Type = { schema: SCHEMA, ...progress };
    const filled = (partial: string) =>
      Effect.andThen(
        Effect.mapError(write(partial), (error) => ({ error })),
        replaceText(join(partial, STATE), `${JSON.stringify(state, null, 2)}\n`),
      );
    yield* replaceFolder(path, filled).pipe(
      Effect.mapError((failure) => ("error" in failure ? failure.error : ofFile(failure))),
    );
    yield* Effect.mapError(StepFolders.keepLatest(folder, 1), ofFile);
    return path;
  });

/** The newest checkpoint of the folder. Fails where there is none, or none that cloning wrote. */
export const latest = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<CloningCheckpoint, CheckpointError> {
  const newest = (yield* Effect.mapError(StepFolders.list(folder), ofFile)).at(-1);
  if (newest === undefined)
    return yield* checkpointError(folder, "missing_file", "it holds no checkpoint to resume from");
  const path = StepFolders.path(folder, newest);
  const file = join(path, STATE);
  const { schema: _, ...progress } = yield* Effect.flatMap(
    readJsonObject(file),
    Schema.decodeUnknownEffect(State),
  ).pipe(
    Effect.catchTag("SchemaError", ({ message }) =>
      Effect.fail(
        checkpointError(file, "bad_config", `not the state of a cloning run that can be resumed: ${message}`),
      ),
    ),
  );
  return { path, progress };
});
