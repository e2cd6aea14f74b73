/**
 * Checkpoints of a run, `checkpoints/step-N/`: a Hugging Face folder plus the learner's state, the run's (`run.json`) and a manifest of
 * all of them, written last. Each is written beside under a temporary name and renamed when whole, so the last good one is never touched;
 * the newest N are kept, and the best, to which the link `best` points. One that does not prove itself when it is read falls back to the one before.
 */
import { join } from "node:path";
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { BadInput } from "../../domain/Errors.ts";
import * as RunState from "../../domain/RunState.ts";
import { replaceFolder, replaceText } from "../../support/files/AtomicWrite.ts";
import * as Fallback from "../../support/files/Fallback.ts";
import { damaged, FileError, fileError } from "../../support/files/FileError.ts";
import * as Manifest from "../../support/files/Manifest.ts";
import { readText } from "../../support/files/readText.ts";
import * as StepFolders from "../../support/files/StepFolders.ts";

const STATE = "run.json";
/** Link to the best checkpoint. */
const BEST = "best";
const LONGEST_STATE = 2 ** 24;

const isFileError = (error: unknown): error is FileError => error instanceof FileError;

const asBadInput = ({ message }: FileError): BadInput => new BadInput({ message });

/** Steps that have a whole checkpoint, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], BadInput> =>
  Effect.mapError(StepFolders.list(folder), asBadInput);

/**
 * Writes `step-N` through `write` (which fills an existing empty folder), the run's state and the manifest, renames it into place and
 * removes all but the newest `keep` and the best, and what a killed run left half-written. Fails with BadInput on disk errors; what was there stays then.
 */
export const save = <E, R>(
  folder: string,
  state: RunState.RunState,
  keep: number,
  write: (into: string) => Effect.Effect<void, E, R>,
): Effect.Effect<string, E | BadInput, R> =>
  Effect.gen(function* () {
    const target = StepFolders.path(folder, state.step);
    yield* replaceFolder(target, (partial) =>
      write(partial).pipe(
        Effect.andThen(Effect.orDie(RunState.encode(state))),
        Effect.andThen((json) => replaceText(join(partial, STATE), `${json}\n`)),
        Effect.andThen(Manifest.seal(partial)),
      ),
    ).pipe(Effect.mapError((error) => (isFileError(error) ? asBadInput(error) : error)));
    const best = state.seen.best?.step ?? null;
    // The link moves before what it pointed to goes; the state, not the link, says which is kept.
    yield* Effect.mapError(StepFolders.setLink(folder, BEST, best), asBadInput);
    yield* Effect.mapError(StepFolders.keepLatest(folder, keep, best), asBadInput);
    return target;
  });

/** A checkpoint that proves itself: its state is one that a run can go on from, its files are as they were written. */
export interface Checkpoint {
  /** Where it lies until the folder is settled. */
  readonly path: string;
  readonly state: RunState.RunState;
}

const schemaOf = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "schema" in value ? value.schema : 1;
  } catch {
    return undefined;
  }
};

const oneLine = (message: string): string => message.replaceAll(/\s*\n\s*/g, " ");

/** The run's state in `file`, of a folder of `step`. */
const readState = Effect.fnUntraced(function* (file: string, step: number) {
  const wrong = (what: string) => damaged(file, `${file} ${what}`);
  const text = yield* Effect.tryPromise({
    try: () => readText(file, LONGEST_STATE),
    catch: (cause) => fileError(file, cause),
  });
  const schema = schemaOf(text);
  if (schema !== undefined && schema !== RunState.SCHEMA) {
    return yield* wrong(
      `has schema ${JSON.stringify(schema).slice(0, 60)}, this version of Millrace reads ${RunState.SCHEMA}; resume with the version that wrote it`,
    );
  }
  const state = yield* RunState.decode(text).pipe(
    Effect.mapError(({ message }) => wrong(`is not a run's state: ${oneLine(message)}`)),
  );
  const fault = state.step === step ? RunState.uncut(state) : `it is of step ${state.step}`;
  if (fault !== undefined) return yield* wrong(`is not the state of a checkpoint of step ${step}: ${fault}`);
  return state;
});

/** What can be told of a checkpoint without loading it. The state comes first: it is small, and says who wrote the rest. */
const verify = Effect.fnUntraced(function* (folder: string, { path, step }: StepFolders.Candidate) {
  const state = yield* readState(join(path, STATE), step);
  yield* Manifest.verify(path);
  const checkpoint: Checkpoint = {
    path,
    state: { ...state, checkpoint: { step, folder: StepFolders.path(folder, step) } },
  };
  return checkpoint;
});

/**
 * Loads the newest checkpoint that proves itself and that `load` takes; a `FileError` of `load` means that it is damaged. Changes nothing on
 * disk: `settle` does, once the run begins. Fails with BadInput where there is none, naming what is wrong with the newest.
 */
export const loadNewest = Effect.fnUntraced(function* <A, E, R>(
  folder: string,
  load: (checkpoint: Checkpoint) => Effect.Effect<A, E | FileError, R>,
) {
  const proven = (candidate: StepFolders.Candidate) => Effect.flatMap(verify(folder, candidate), load);
  const candidate = yield* Fallback.loadNewest(folder, proven).pipe(
    Effect.mapError((error) => (isFileError(error) ? asBadInput(error) : error)),
  );
  if (candidate === null) return yield* new BadInput({ message: `${folder} holds no checkpoint to resume from` });
  return { loaded: candidate.loaded, settle: Effect.mapError(candidate.settle, asBadInput) };
});

/** The newest checkpoint that proves itself. Fails with BadInput where there is none. */
export const latest = (folder: string): Effect.Effect<Checkpoint, BadInput> =>
  Effect.scoped(Effect.map(loadNewest(folder, Effect.succeed), ({ loaded }) => loaded));

/**
 * Fails with BadInput where a run cannot go on from `state` under `config`: windows are numbered by their groups, so the groups of
 * the windows consumed, and of those to come, must be the ones that the configuration cuts.
 */
export const checkResumable = (
  { es_manager }: RunConfig,
  { refilled, seeds, step }: RunState.RunState,
): Effect.Effect<void, BadInput> => {
  const size = es_manager.train.env_groups;
  const consumed = seeds.next - seeds.returned.length - refilled;
  const bad = (message: string) => Effect.fail(new BadInput({ message }));
  if (consumed !== step * size) {
    return bad(
      `es_manager.train.env_groups: ${size}: the run consumed ${consumed} groups in ${step} windows; nearest: ${consumed / step}`,
    );
  }
  return Effect.void;
};
