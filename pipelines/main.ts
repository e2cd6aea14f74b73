/**
 * The package from code, as `millrace`: compose a run file, start a training, watch it, stop it, and put parts of one's own in place of the
 * usual ones. Everything else of this package may change without notice.
 */
import { Cause, Effect, Exit } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { load } from "../src/config/resolve.ts";
import type * as Run from "../src/engine/Run.ts";
import type * as Training from "../src/engine/Training.ts";
import { configDir } from "./paths.ts";
import { checkPresets } from "./presets.ts";
import { type Parts, train } from "./train.ts";

export type { RunConfig } from "../src/config/RunConfig.ts";
export type { Episode, Outcome, Sequence, Turn } from "../src/domain/Episode.ts";
export { BadInput, EnvironmentError, LearnerError, PolicyError } from "../src/domain/Errors.ts";
export type { Event, StepRecord } from "../src/domain/Event.ts";
export type { Group, ScoredGroup, ScoredWindow } from "../src/domain/Group.ts";
export type { RunState } from "../src/domain/RunState.ts";
export type { StageView } from "../src/engine/Run.ts";
export type { Ended } from "../src/engine/Training.ts";
export type { Selection } from "../src/filtering/filter.ts";
export type { Sink } from "../src/metrics/Sink.ts";
export * as Admission from "../src/stage/Admission.ts";
export * as Pipeline from "../src/stage/Pipeline.ts";
export * as Stage from "../src/stage/Stage.ts";
export type { Parts } from "./train.ts";

/** A training that has begun. */
export interface Running extends Omit<Run.Run, "stop"> {
  /** Resolves when the run has ended, by itself or by a stop; rejects when it failed. */
  readonly ended: Promise<Training.Ended>;
  /** Asks for an orderly stop: what is in flight is finished, and a checkpoint written. */
  readonly stop: () => void;
}

/** What a failed effect threw, for promises. */
const thrown = (cause: Cause.Cause<unknown>): unknown => Cause.squash(cause);

/** A run file by name (of those in the package) or path, with overrides `key.sub=value`. Rejects with BadInput. */
export const compose = (name: string, overrides: readonly string[] = []): Promise<RunConfig> =>
  Effect.runPromise(load(name, overrides, configDir));

/**
 * Starts a training and resolves once its first group may start. `resume` is the folder of a run to go on with. Rejects with BadInput,
 * PolicyError, LearnerError or EnvironmentError where it cannot begin.
 */
export const start = (
  config: RunConfig,
  { resume = null, ...parts }: Omit<Parts, "onStart"> & { readonly resume?: string | null } = {},
): Promise<Running> =>
  new Promise((resolve, reject) => {
    const { train: training, val } = config.es_manager;
    let ended: Promise<Training.Ended>;
    const onStart = ({ stop, ...run }: Run.Run) =>
      // A microtask later: `ended` is assigned by then, also where the run begins at once.
      queueMicrotask(() => resolve({ ...run, ended, stop: () => void Effect.runPromise(stop) }));
    const program = Effect.andThen(
      checkPresets(config, [...training.tags, ...val.tags]),
      train({ config, resume, parts: { ...parts, onStart } }),
    );
    ended = Effect.runPromiseExit(program).then((exit) => {
      if (Exit.isSuccess(exit)) return exit.value;
      throw thrown(exit.cause);
    });
    // A run that cannot begin has no `ended` for anyone to wait for.
    ended.catch(reject);
  });
