/**
 * Checkpoints of a cloning run, `step-N/` in a folder: the learner's own state, how many steps it has taken, and a manifest of both. Each is
 * written beside under a temporary name and renamed when whole; then all but the newest two are removed.
 */
import { join } from "node:path";
import { Effect, Schema } from "effect";
import { Count } from "../../domain/Count.ts";
import { SkippedUpdates } from "../../domain/SkippedUpdates.ts";
import { type CheckpointError, checkpointError, fromFileError } from "../../model/checkpoint/CheckpointError.ts";
import { readJsonObject } from "../../model/checkpoint/TokenizerFiles.ts";
import { replaceFolder, replaceText } from "../../support/files/AtomicWrite.ts";
import * as Fallback from "../../support/files/Fallback.ts";
import { damaged, type FileError } from "../../support/files/FileError.ts";
import * as Manifest from "../../support/files/Manifest.ts";
import * as StepFolders from "../../support/files/StepFolders.ts";
import type { CloningProgress } from "./Cloning.ts";

const STATE = "cloning.json";
/** The layout that is written and read. */
const SCHEMA = 1;
/** A damaged checkpoint falls back to the one before. */
const KEPT = 2;

const State = Schema.Struct({
  schema: Schema.Literal(SCHEMA),
  /** Optimiser steps taken. */
  step: Count,
  /** Steps in a row, up to the last one, that were not applied; null where it was applied. */
  skipped: Schema.NullOr(SkippedUpdates).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
});

export interface CloningCheckpoint {
  /** A Hugging Face folder with the learner's state beside it. */
  readonly path: string;
  readonly progress: CloningProgress;
}

/** Writes the checkpoint of `progress` through `write`, which fills an existing empty folder, and removes old ones. Resolves to its path. */
export const save = <E>(
  folder: string,
  progress: CloningProgress,
  write: (into: string) => Effect.Effect<void, E>,
): Effect.Effect<string, E | CheckpointError> =>
  Effect.gen(function* () {
    const path = StepFolders.path(folder, progress.step);
    const state: typeof State.Type = { schema: SCHEMA, ...progress };
    const filled = (partial: string) =>
      Effect.andThen(
        Effect.mapError(write(partial), (error) => ({ error })),
        Effect.andThen(
          replaceText(join(partial, STATE), `${JSON.stringify(state, null, 2)}\n`),
          Manifest.seal(partial),
        ),
      );
    yield* replaceFolder(path, filled).pipe(
      Effect.mapError((failure) => ("error" in failure ? failure.error : fromFileError(failure))),
    );
    yield* Effect.mapError(StepFolders.keepLatest(folder, KEPT), fromFileError);
    return path;
  });

/** Proves a checkpoint without loading it: cloning wrote its state, and its files are as they were written. */
const prove = Effect.fnUntraced(function* ({ path, step }: StepFolders.Candidate) {
  const file = join(path, STATE);
  const { schema: _, ...progress } = yield* Effect.flatMap(
    readJsonObject(file),
    Schema.decodeUnknownEffect(State),
  ).pipe(
    Effect.catchTag("SchemaError", ({ message }) => {
      const detail = `not the state of a cloning run that can be resumed: ${message.replaceAll(/\s*\n\s*/g, " ")}`;
      return Effect.fail(checkpointError(file, "bad_config", detail));
    }),
    Effect.mapError(({ message }) => damaged(file, message)),
  );
  if (progress.step !== step)
    return yield* damaged(file, `${file}: it is of step ${progress.step}, its folder of ${step}`);
  yield* Manifest.verify(path);
  const checkpoint: CloningCheckpoint = { path, progress };
  return checkpoint;
});

/**
 * Loads the newest checkpoint that proves itself and that `load` takes; a `FileError` of `load` means that it is damaged. Changes nothing on
 * disk: `settle` does. Fails where there is none, naming what is wrong with the newest.
 */
export const newest = Effect.fnUntraced(function* <A, E, R>(
  folder: string,
  load: (checkpoint: CloningCheckpoint) => Effect.Effect<A, E | FileError, R>,
) {
  const checkpoint = yield* Fallback.loadNewest(folder, (candidate) => Effect.flatMap(prove(candidate), load));
  if (checkpoint === null)
    return yield* checkpointError(folder, "missing_file", "it holds no checkpoint to resume from");
  return checkpoint;
});
