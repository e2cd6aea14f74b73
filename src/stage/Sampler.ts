/**
 * Reads all gauges at a steady pace and puts them on the bus. In: the dials of the running stages and the run's totals; out: one
 * `Sample` per period, on a path that may drop. Nothing waits for it.
 */
import { Clock, Effect, Schedule } from "effect";
import type { Bus, Sample } from "./Bus.ts";
import type { Dial } from "./Stage.ts";

export interface SamplerOptions {
  readonly bus: Bus;
  /** Flow stages in the order they are connected, then services. */
  readonly dials: readonly Dial[];
  readonly totals: () => Omit<Sample, "elapsedMs" | "stages">;
  readonly periodMs: number;
}

/** Samples now and then every period; runs until interrupted. */
export const run = ({ bus, dials, totals, periodMs }: SamplerOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock;
    const start = clock.monotonicTimeNanosUnsafe();
    const sample = Effect.suspend(() =>
      bus.sampled({
        elapsedMs: Number(clock.monotonicTimeNanosUnsafe() - start) / 1e6,
        stages: dials.map((dial) => dial.sample()),
        ...totals(),
      }),
    );
    yield* Effect.repeat(sample, Schedule.spaced(periodMs));
  });
