/**
 * The newest step folder that loads. One that is damaged falls back to the one before it. Invariant: nothing on disk is changed until one has
 * loaded; `settle` then makes it the newest.
 */
import { Effect, Exit, Scope } from "effect";
import { FileError } from "./FileError.ts";
import * as StepFolders from "./StepFolders.ts";

export interface Found<A> {
  readonly loaded: A;
  /** Sets the damaged ones aside and clears what killed processes left. */
  readonly settle: Effect.Effect<void, FileError>;
}

/** What `load` has opened is closed where it fails. */
const contained = <A, E, R>(load: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope);
    return yield* load.pipe(
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
    );
  });

/**
 * Loads the newest folder of `folder` that `load` takes; null where there is none at all. A `FileError` of `load` means that the folder is
 * damaged, which one line tells; any other failure ends the search. Fails with the newest one's `FileError` where none loads.
 */
export const newest = Effect.fnUntraced(function* <A, E, R>(
  folder: string,
  load: (candidate: StepFolders.Candidate) => Effect.Effect<A, E | FileError, R>,
) {
  const damaged: StepFolders.Candidate[] = [];
  const reasons: FileError[] = [];
  for (const candidate of yield* StepFolders.candidates(folder)) {
    const loaded = yield* contained(load(candidate)).pipe(
      Effect.map((value) => ({ value })),
      Effect.catchIf(
        (error): error is FileError => error instanceof FileError,
        (error) => Effect.sync(() => void reasons.push(error)),
      ),
    );
    if (loaded !== undefined) {
      const told = reasons.map(({ message }) => message).join("; ");
      if (told !== "") yield* Effect.logWarning(`${told}; going on from ${candidate.path} instead`);
      const found: Found<A> = {
        loaded: loaded.value,
        settle: StepFolders.settle(folder, candidate, damaged),
      };
      return found;
    }
    damaged.push(candidate);
  }
  const [first] = reasons;
  return first === undefined ? null : yield* first;
});
