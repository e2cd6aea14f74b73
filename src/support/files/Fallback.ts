/**
 * Loads the newest step folder, and falls back to the one before it if it is damaged. Invariant: nothing on disk changes until
 * one has loaded; `cleanUp` then makes it the newest.
 */
import { Effect, Exit, Scope } from "effect";
import { FileError } from "./FileError.ts";
import * as StepFolders from "./StepFolders.ts";

export interface LoadedFolder<A> {
  readonly loaded: A;
  /** Sets the damaged folders aside and removes files that killed processes left. */
  readonly cleanUp: Effect.Effect<void, FileError>;
}

/** Codes of a system that refuses for now, or to this user. They say nothing about the data on disk. */
const refusals: readonly unknown[] = ["EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM"];

const isDamage = (error: unknown): error is FileError => {
  if (!(error instanceof FileError)) return false;
  const { cause } = error;
  return !(cause instanceof Error && "code" in cause && refusals.includes(cause.code));
};

/** Closes the resources that `load` has opened if it fails. */
const contained = <A, E, R>(load: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope);
    return yield* load.pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
    );
  });

/**
 * Loads the newest folder of `folder` that `load` accepts; null if there is none. A `FileError` of `load` means a damaged folder,
 * and is logged, unless the system refused it for now. Any other failure ends the search. Fails with the `FileError` of the
 * newest if none loads.
 */
export const loadNewest = Effect.fnUntraced(function* <A, E, R>(
  folder: string,
  load: (candidate: StepFolders.Candidate) => Effect.Effect<A, E | FileError, R>,
) {
  const damaged: StepFolders.Candidate[] = [];
  const reasons: FileError[] = [];
  for (const candidate of yield* StepFolders.candidates(folder)) {
    const loaded = yield* contained(load(candidate)).pipe(
      Effect.map((value) => ({ value })),
      Effect.catchIf(isDamage, (error) => Effect.sync(() => void reasons.push(error))),
    );
    if (loaded !== undefined) {
      const faults = reasons.map(({ message }) => message).join("; ");
      if (faults !== "") yield* Effect.logWarning(`${faults}; going on from ${candidate.path} instead`);
      const found: LoadedFolder<A> = {
        loaded: loaded.value,
        cleanUp: StepFolders.cleanUp(folder, candidate, damaged),
      };
      return found;
    }
    damaged.push(candidate);
  }
  const [first] = reasons;
  return first === undefined ? null : yield* first;
});
