/**
 * The autotuner at work: it takes the samples of a run's bus in and has its decisions carried out. It holds nobody up: while a decision is
 * carried out, the newest sample waits and older ones are passed over.
 */
import { Effect, Queue } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Control } from "../../domain/Control.ts";
import { Bus, type Sample } from "../../flow/Bus.ts";
import { Controls } from "../../observe/control/Controls.ts";
import * as Autotune from "./Autotune.ts";
import { optionsOf } from "./knobs.ts";
import * as LanesTuner from "./LanesTuner.ts";

export interface Options extends Autotune.Options {
  /** The learner's lanes; one where absent. */
  readonly lanes?: LanesTuner.Lanes;
}

export interface AutotunerOptions extends Options {
  /** Carries a decision out. */
  readonly apply: (control: Control, reason: string) => Effect.Effect<void>;
}

export interface State {
  readonly slots: Autotune.State;
  readonly lanes: LanesTuner.State;
}

export interface Outcome {
  readonly state: State;
  readonly decisions: readonly Autotune.Decision[];
}

export const start = ({ lanes = { most: 1, lead: 0 }, ...options }: Options): State => ({
  slots: Autotune.start(options),
  lanes: LanesTuner.start({ ...lanes, setting: options.setting }),
});

/** Takes the stages' slots and the learner's lanes in turns: each is left alone while the other is explored. */
export const observe = (state: State, sample: Pick<Sample, "elapsedMs" | "stages" | "settings">): Outcome => {
  const used = sample.settings?.find(({ name }) => name === "lanes")?.concurrency;
  const { decisions, state: slots } = LanesTuner.isTrying(state.lanes)
    ? Autotune.hold(state.slots, sample)
    : Autotune.observe(state.slots, sample);
  if (used === undefined) return { state: { ...state, slots }, decisions };
  const free = slots.exploring === null && decisions.length === 0;
  const lanes = LanesTuner.observe(state.lanes, { ...sample, lanes: used, free });
  const all = lanes.decision === null ? decisions : [...decisions, lanes.decision];
  return { state: { slots, lanes: lanes.state }, decisions: all };
};

/** Runs until interrupted. */
export const run = ({
  apply,
  lanes = { most: 1, lead: 0 },
  ...options
}: AutotunerOptions): Effect.Effect<never, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const samples = yield* Queue.sliding<Sample>(1);
    const unsubscribe = bus.onSample((sample) => {
      Queue.offerUnsafe(samples, sample);
    });
    yield* Effect.addFinalizer(() => Effect.sync(unsubscribe));
    let state = start(options);
    return yield* Effect.forever(
      Effect.gen(function* () {
        const observed = observe(state, yield* Queue.take(samples));
        state = observed.state;
        for (const { control, reason } of observed.decisions) yield* apply(control, reason);
      }),
    );
  }).pipe(Effect.scoped);

/** Tunes a run by its controls. A stage that refuses one is left as it is. */
export const ofRun = (config: RunConfig): Effect.Effect<never, never, Bus | Controls> =>
  Effect.flatMap(Controls, ({ apply }) =>
    run({
      ...optionsOf(config),
      apply: (control, reason) => Effect.ignore(apply(control, "autotune", reason)),
    }),
  );
