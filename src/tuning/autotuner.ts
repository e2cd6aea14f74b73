/**
 * The autotuner at work: it takes the samples of a run's bus in and has its decisions carried out. It holds nobody up: while a decision is
 * carried out, the newest sample waits and older ones are passed over.
 */
import { Clock, Effect, Queue } from "effect";
import type { Control } from "../domain/Control.ts";
import { Bus, type Sample } from "../stage/Bus.ts";
import * as Autotune from "./Autotune.ts";

export interface AutotunerOptions extends Autotune.Options {
  /** Carries a decision out. */
  readonly apply: (control: Control, reason: string) => Effect.Effect<void>;
}

/** Events that consume a window. */
const consumes: ReadonlySet<string> = new Set(["Updated", "EmptySelection", "UpdateSkipped"]);

/** Runs until interrupted. */
export const run = ({ apply, ...options }: AutotunerOptions): Effect.Effect<never, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const clock = yield* Clock.Clock;
    const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6;
    const samples = yield* Queue.sliding<{ readonly sample: Sample; readonly at: number }>(1);
    let consumed = 0;
    let lastConsumed = now();
    const listening = [
      bus.onEvent(({ _tag }) => {
        if (!consumes.has(_tag)) return;
        consumed++;
        lastConsumed = now();
      }),
      bus.onSample((sample) => {
        Queue.offerUnsafe(samples, { sample, at: now() });
      }),
    ];
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const stop of listening) stop();
      }),
    );
    let state = Autotune.start(options);
    return yield* Effect.forever(
      Effect.gen(function* () {
        const { at, sample } = yield* Queue.take(samples);
        const { elapsedMs, stages } = sample;
        const lastConsumedMs = Math.max(0, lastConsumed - (at - elapsedMs));
        const observed = Autotune.observe(state, { elapsedMs, stages, consumed, lastConsumedMs });
        state = observed.state;
        for (const { control, reason } of observed.decisions) yield* apply(control, reason);
      }),
    );
  }).pipe(Effect.scoped);
