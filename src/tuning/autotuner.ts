/**
 * The autotuner at work: it takes the samples of a run's bus in and has its decisions carried out. It holds nobody up: while a decision is
 * carried out, the newest sample waits and older ones are passed over.
 */
import { Effect, Queue } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { Controls } from "../control/Controls.ts";
import type { Control } from "../domain/Control.ts";
import { Bus, type Sample } from "../stage/Bus.ts";
import * as Autotune from "./Autotune.ts";
import { optionsOf } from "./knobs.ts";

export interface AutotunerOptions extends Autotune.Options {
  /** Carries a decision out. */
  readonly apply: (control: Control, reason: string) => Effect.Effect<void>;
}

/** Runs until interrupted. */
export const run = ({ apply, ...options }: AutotunerOptions): Effect.Effect<never, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const samples = yield* Queue.sliding<Sample>(1);
    const unsubscribe = bus.onSample((sample) => {
      Queue.offerUnsafe(samples, sample);
    });
    yield* Effect.addFinalizer(() => Effect.sync(unsubscribe));
    let state = Autotune.start(options);
    return yield* Effect.forever(
      Effect.gen(function* () {
        const observed = Autotune.observe(state, yield* Queue.take(samples));
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
