/**
 * Checkpoints of a run, `checkpoints/step-N/`: a Hugging Face folder plus the learner's state and the run's (`run.json`). Each is written
 * beside under a temporary name and renamed when whole, so the last good one is never touched; the newest N are kept.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import * as RunState from "../domain/RunState.ts";
import { replaceFolder, replaceText } from "../files/AtomicWrite.ts";
import { FileError } from "../files/FileError.ts";
import * as StepFolders from "../files/StepFolders.ts";

const isFileError = (error: unknown): error is FileError => error instanceof FileError;

const disk = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, BadInput> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new BadInput({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  });

const unusable = ({ message }: FileError): BadInput => new BadInput({ message });

/** Steps that have a whole checkpoint, ascending. */
export const list = (folder: string): Effect.Effect<readonly number[], BadInput> =>
  Effect.mapError(StepFolders.list(folder), unusable);

/**
 * Writes `step-N` through `write` (which fills an existing empty folder) and the run's state, renames it into place when whole and
 * removes all but the newest `keep`, and what a killed run left half-written. Fails with BadInput on disk errors; what was there stays then.
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
        Effect.andThen((json) => replaceText(join(partial, "run.json"), `${json}\n`)),
      ),
    ).pipe(Effect.mapError((error) => (isFileError(error) ? unusable(error) : error)));
    yield* Effect.mapError(StepFolders.keepLatest(folder, keep), unusable);
    return target;
  });

const schemaOf = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "schema" in value ? value.schema : 1;
  } catch {
    return undefined;
  }
};

/** The newest checkpoint's path and run state. Fails with BadInput when there is none or it cannot be read. */
export const latest = Effect.fnUntraced(function* (folder: string) {
  const steps = yield* list(folder);
  const step = steps.at(-1);
  if (step === undefined) return yield* new BadInput({ message: `${folder} holds no checkpoint to resume from` });
  const at = StepFolders.path(folder, step);
  const file = join(at, "run.json");
  const text = yield* disk(`cannot read ${file}`, () => readFile(file, "utf8"));
  const schema = schemaOf(text);
  if (typeof schema === "number" && schema !== RunState.SCHEMA) {
    const message = `${file} has schema ${schema}, this version of Millrace reads ${RunState.SCHEMA}; resume with the version that wrote it`;
    return yield* new BadInput({ message });
  }
  const decoded = yield* RunState.decode(text).pipe(
    Effect.mapError((error) => new BadInput({ message: `${file} is not a run's state: ${error.message}` })),
  );
  const state: RunState.RunState = { ...decoded, checkpoint: { step, folder: at } };
  return { path: at, state };
});

/**
 * Fails with BadInput where a run cannot go on from `state` under `config`: windows are numbered by their groups, so the groups of
 * the windows consumed, and of those to come, must be the ones that the configuration cuts.
 */
export const checkResumable = (
  { es_manager, pipeline }: RunConfig,
  { seeds, step }: RunState.RunState,
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
