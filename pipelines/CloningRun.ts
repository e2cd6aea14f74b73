/** Behaviour cloning as a caller of the package holds it: promises and an async iterable in place of effects, and nothing printed. */

import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { checkOptions, type OptionNames } from "./checkOptions.ts";
import { type Changes, compose } from "./compose.ts";
import { heldItems } from "./heldItems.ts";
import { namedRun } from "./namedRun.ts";
import { prepareConfig } from "./prepareRun.ts";
import { promiseOf, silently } from "./promises.ts";
import type { OwnModules } from "./RunFile.ts";
import { type ClonedModel, type MeasuredStep, runCloning } from "./sft.ts";

/** Behaviour cloning that has begun. */
export interface CloningRun extends AsyncDisposable {
  /** Folder of the run: its configuration, `sft.json` and checkpoints. */
  readonly folder: string;
  /** The steps, for one reader; the last 1 000 are held. Ends with the run, and throws the error of a run that failed. */
  readonly steps: AsyncIterable<MeasuredStep>;
  /** Resolves when the run has ended, by itself or by a stop; rejects when it failed. */
  readonly ended: Promise<ClonedModel>;
  /** Asks for a stop after the step under way; a checkpoint is written. */
  readonly stop: () => void;
  /** Stops the run and waits for its end. Never rejects: `ended` says how it ended. `await using` does the same. */
  readonly close: () => Promise<void>;
}

/** Options of a cloning. */
export interface SftOptions extends Pick<OwnModules, "environments"> {
  /** Folder of a cloning run to go on with. */
  readonly resume?: string | null;
  /** False leaves the signals to the caller; by default the first one stops the run in order, the second ends the process. */
  readonly signals?: boolean;
}

const optionNames: OptionNames<SftOptions> = { environments: true, resume: true, signals: true };

interface Listeners {
  readonly onStart: (folder: string, stop: () => void) => void;
  readonly onStep: (step: MeasuredStep) => void;
}

/** Clones after the checks that the command line makes, too. */
const checkedCloning = Effect.fnUntraced(function* (
  config: RunConfig,
  resume: string | null,
  { onStart, onStep }: Listeners,
) {
  const { request } = yield* Stop.Stop;
  const prepared = yield* prepareConfig("sft", config);
  const folder = resume === null ? null : yield* namedRun("resume", resume);
  const stop = () => void Effect.runPromise(request);
  return yield* runCloning({ config: prepared, resume: folder, onStart: (path) => onStart(path, stop), onStep });
});

const runOf = (
  folder: string,
  steps: CloningRun["steps"],
  ended: CloningRun["ended"],
  stop: () => void,
): CloningRun => {
  const close = async () => {
    stop();
    await ended.catch(() => undefined);
  };
  return { folder, steps, ended, stop, close, [Symbol.asyncDispose]: close };
};

/**
 * Clones the solvers' episodes, or conversations, of a run file's `sft` section. Resolves once the first step may be taken; rejects with BadInput,
 * LearnerError or EnvironmentError where the run cannot begin.
 */
export const sft = async (
  name: string,
  changes: Changes = {},
  { resume = null, signals = true, ...modules }: SftOptions = {},
): Promise<CloningRun> => {
  await promiseOf(checkOptions("sft", modules, optionNames));
  const config = await compose(name, changes, modules);
  const { promise, resolve, reject } = Promise.withResolvers<CloningRun>();
  let onStep: (step: MeasuredStep) => void = () => undefined;
  // A microtask later `ended` is assigned, also where the run begins at once.
  const onStart: Listeners["onStart"] = (folder, stop) =>
    queueMicrotask(() => {
      const { items, push } = heldItems<MeasuredStep>(ended);
      onStep = push;
      resolve(runOf(folder, items, ended, stop));
    });
  const cloning = checkedCloning(config, resume, { onStart, onStep: (step) => onStep(step) });
  const ended = promiseOf(silently(Effect.provide(cloning, signals ? Stop.layer : Stop.layerWithoutSignals)));
  // A run that cannot begin has no `ended` for anyone to wait for.
  ended.catch(reject);
  return promise;
};
