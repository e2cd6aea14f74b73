/**
 * Checkpoints of a run, `checkpoints/step-N/`: a Hugging Face folder, the learner's state, the run's state (`run.json`) and a
 * manifest. A checkpoint is written under a temporary name and renamed when whole, so the last good one is never touched. The
 * newest N stay, and the best, to which the link `best` points. Loading passes over a checkpoint whose manifest does not hold.
 */
import { join } from "node:path";
import { Effect } from "effect";
import { startingLag } from "../../config/fixedLag.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { BadInput, CheckpointSpaceError } from "../../domain/Errors.ts";
import * as RunState from "../../domain/RunState.ts";
import { replaceFolder, replaceText } from "../../support/files/AtomicWrite.ts";
import * as Fallback from "../../support/files/Fallback.ts";
import { damaged, FileError, fileError, isFullDisk } from "../../support/files/FileError.ts";
import * as Manifest from "../../support/files/Manifest.ts";
import { readText } from "../../support/files/readText.ts";
import * as StepFolders from "../../support/files/StepFolders.ts";

const STATE = "run.json";
/** Name of the link to the best checkpoint. */
const BEST = "best";
const LONGEST_STATE = 2 ** 24;

const isFileError = (error: unknown): error is FileError => error instanceof FileError;

/** Tells a full disk from the other failures of a save; a full disk in the learner's thread is the cause of its error. */
const failureOfSave = <E>(error: E | FileError): E | BadInput | CheckpointSpaceError => {
  if (error instanceof Error && isFullDisk(error)) return new CheckpointSpaceError({ message: error.message });
  return isFileError(error) ? asBadInput(error) : error;
};

const asBadInput = ({ message }: FileError): BadInput => new BadInput({ message });

/** Lists the steps that have a whole checkpoint, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], BadInput> =>
  Effect.mapError(StepFolders.list(folder), asBadInput);

/**
 * Writes `step-N` and renames it into place: `write` fills an empty folder, then the run's state and the manifest are added.
 * Removes all checkpoints but the newest `keep` and the best, and folders that a killed run left unfinished. Fails with
 * CheckpointSpaceError on a full disk and with BadInput on other disk errors; the checkpoints that exist stay.
 */
export const save = <E, R>(
  folder: string,
  state: RunState.RunState,
  keep: number,
  write: (into: string) => Effect.Effect<void, E, R>,
): Effect.Effect<string, E | BadInput | CheckpointSpaceError, R> =>
  Effect.gen(function* () {
    const target = StepFolders.path(folder, state.step);
    yield* replaceFolder(target, (partial) =>
      write(partial).pipe(
        Effect.andThen(Effect.orDie(RunState.encode(state))),
        Effect.andThen((json) => replaceText(join(partial, STATE), `${json}\n`)),
        Effect.andThen(Manifest.seal(partial)),
      ),
    );
    const best = state.seen.best?.step ?? null;
    const link = StepFolders.setLink(folder, BEST, best);
    // The link moves before its target is removed. The state, not the link, says which checkpoint is the best.
    const isLinked = yield* Effect.as(link, true).pipe(Effect.catchIf(isFullDisk, () => Effect.succeed(false)));
    yield* StepFolders.keepLatest(folder, keep, best);
    // On a full disk the link gets the room of the checkpoints that went.
    if (!isLinked) yield* link;
    return target;
  }).pipe(Effect.mapError(failureOfSave));

/** A checkpoint whose state a run can resume from and whose files match the manifest. */
export interface Checkpoint {
  /** The folder as it is now. `cleanUp` may move a `.replaced` folder to its proper name. */
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

/** Reads the run's state from `file`, which must be the state of `step`. */
const readState = Effect.fnUntraced(function* (file: string, step: number) {
  const wrong = (what: string) => damaged(file, `${file} ${what}`);
  const text = yield* Effect.tryPromise({
    try: () => readText(file, LONGEST_STATE),
    catch: (cause) => fileError(file, cause),
  });
  const schema = schemaOf(text);
  if (schema !== undefined && !RunState.isReadable(schema)) {
    return yield* wrong(
      `has schema ${JSON.stringify(schema).slice(0, 60)}, this version of Millrace reads ${RunState.SCHEMA}; resume with the version that wrote it`,
    );
  }
  const state = yield* RunState.decode(text).pipe(
    Effect.mapError(({ message }) => wrong(`is not a run's state: ${oneLine(message)}`)),
  );
  const fault = state.step === step ? RunState.checkpointProblem(state) : `it is of step ${state.step}`;
  if (fault !== undefined) return yield* wrong(`is not the state of a checkpoint of step ${step}: ${fault}`);
  return state;
});

/** Checks a checkpoint without loading it. The state comes first: it is small, and names the version that wrote the rest. */
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
 * Loads the newest checkpoint that passes its checks and that `load` accepts; a `FileError` of `load` means that it is damaged.
 * Changes nothing on disk: `cleanUp` does, once the run begins. Fails with BadInput that names the fault of the newest one if
 * there is none.
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
  return { loaded: candidate.loaded, cleanUp: Effect.mapError(candidate.cleanUp, asBadInput) };
});

/** Finds the newest checkpoint that passes its checks. Fails with BadInput if there is none. */
export const latest = (folder: string): Effect.Effect<Checkpoint, BadInput> =>
  Effect.scoped(Effect.map(loadNewest(folder, Effect.succeed), ({ loaded }) => loaded));

/** Returns in words how the run file's fixed lag differs from the one that a run began with; undefined where it does not. */
const lagDifference = (config: RunConfig, began: RunState.RunState["position"]["fixedLag"]): string | undefined => {
  const { max_staleness, schedule } = config.pipeline;
  const now = startingLag(config);
  const other = now === null ? "fixed_lag" : "free_running";
  if ((now === null) !== (began === null))
    return `pipeline.schedule: ${schedule}: the run began as another; nearest: ${other}`;
  return now?.lag === began?.lag
    ? undefined
    : `pipeline.max_staleness: ${max_staleness}: a fixed lag stays as it began; nearest: ${began?.lag}`;
};

/**
 * Fails with BadInput if a run cannot resume from `state` under `config`. Windows are numbered by their groups, so the
 * configuration must cut windows of the same size as the consumed ones.
 */
export const checkResumable = (
  config: RunConfig,
  { position, step }: RunState.RunState,
): Effect.Effect<void, BadInput> => {
  const size = config.es_manager.train.env_groups;
  const bad = (message: string) => Effect.fail(new BadInput({ message }));
  const difference = lagDifference(config, position.fixedLag);
  if (difference !== undefined) return bad(difference);
  const { admitted } = position;
  if (admitted !== step * size) {
    return bad(
      `es_manager.train.env_groups: ${size}: the run consumed ${admitted} groups in ${step} windows; nearest: ${admitted / step}`,
    );
  }
  return Effect.void;
};
