/**
 * The train pipeline: trains a policy under a resolved configuration and fills a run's folder. Read from top to bottom it is the run: the
 * environments, the model, the folder, the threads and services over them, and training until the last window is consumed.
 */
import { Effect, Layer } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import * as RunState from "../src/domain/RunState.ts";
import * as Backend from "../src/engine/Backend.ts";
import * as Layers from "../src/engine/Layers.ts";
import * as Run from "../src/engine/Run.ts";
import { Selection } from "../src/engine/stages/filter.ts";
import * as Telemetry from "../src/engine/Telemetry.ts";
import * as Training from "../src/engine/Training.ts";
import type * as Filtering from "../src/filtering/filter.ts";
import type { Sink } from "../src/metrics/Sink.ts";
import * as Model from "../src/policy/Model.ts";
import * as Stop from "../src/process/Stop.ts";
import * as Checkpoints from "../src/record/Checkpoints.ts";
import * as RunFolder from "../src/record/RunFolder.ts";
import { boundEnvironments } from "./presets.ts";

/** Parts of one's own in place of the usual ones. */
export interface Parts {
  /** Selects the groups of a window that are trained on, in place of the run file's `filter`. */
  readonly filter?: Filtering.Selection;
  /** Sinks beside metrics.jsonl and the console. */
  readonly sinks?: readonly Sink[];
  /** Called once, when the run is about to begin. */
  readonly onStart?: (run: Run.Run) => void;
}

export interface TrainOptions {
  readonly config: RunConfig;
  /** Folder of the run to go on with; null starts a new one. */
  readonly resume: string | null;
  readonly parts?: Parts;
}

/** The run's folder, new or that of the run to go on with, and what there is to go on from. */
const open = Effect.fnUntraced(function* (config: RunConfig, resume: string | null) {
  if (resume === null) {
    const folder = yield* RunFolder.create(config.run.dir, config.run.name, render(config));
    return { folder, state: RunState.initial, restore: null };
  }
  const folder = yield* RunFolder.open(resume);
  const { path, state } = yield* Checkpoints.latest(folder.checkpoints);
  yield* Checkpoints.checkResumable(config, state);
  yield* RunFolder.reconfigure(folder, render(config));
  return { folder, state, restore: path };
});

/** Trains until the run has ended in any way; its sinks are told how. */
const running = Effect.fnUntraced(function* ({ filter, onStart, sinks }: Parts) {
  const run = yield* Run.make;
  const broken = yield* Telemetry.attach(run).pipe(Effect.provideService(Telemetry.Sinks, sinks ?? []));
  const died = yield* Backend.Died;
  onStart?.(run);
  const training = filter === undefined ? Training.run : Effect.provideService(Training.run, Selection, filter);
  return yield* Effect.raceAllFirst([training, broken, died]);
}, Effect.scoped);

/** The folder, and every part of the run over it: model, environments and threads, as services of the current scope. */
const loaded = Effect.fnUntraced(function* (config: RunConfig, resume: string | null) {
  const environments = yield* boundEnvironments(config, Backend.tagsOf(config));
  const start = yield* Model.load(config.model.path);
  yield* Model.checkContext(config, start);
  const { folder, restore, state } = yield* open(config, resume);
  const current = restore === null ? start : yield* Model.load(restore);
  const { version } = state.position;

  const threads = Layer.mergeAll(
    Backend.modelsLayer({ config, start, current, version, restore }),
    Backend.environmentsLayer(config, environments),
  );
  const rollout = Backend.rollout(config, current, environments);
  return yield* Layer.build(
    Layers.layer({ config, folder, state, rollout }).pipe(
      Layer.provideMerge(threads),
      Layer.provideMerge(Layer.effect(Stop.Stop, Stop.Stop)),
    ),
  );
});

/** A stop that is asked for while the run loads ends it with `StoppedEarly`. */
export const train = ({ config, parts = {}, resume }: TrainOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Stop.unlessStopped(loaded(config, resume), "the first step");
      return yield* Effect.provideContext(running(parts), services);
    }),
  );
