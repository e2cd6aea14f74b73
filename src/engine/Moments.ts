/**
 * Everything that is measured in a run, at one moment: its state, the gauges of its stages and generators, and the time it has trained. A
 * step record compares two moments.
 */
import { Clock, Context, Effect, Layer } from "effect";
import type { PolicyError } from "../domain/Errors.ts";
import { type Metrics, together } from "../domain/metrics/Metrics.ts";
import type { RunState } from "../domain/RunState.ts";
import { Bus } from "../flow/Bus.ts";
import { Dials } from "../flow/Dials.ts";
import type { StageSample } from "../flow/Gauge.ts";
import { Servers } from "../flow/Servers.ts";
import { type GeneratorGauges, Policy } from "../generation/Policy.ts";

export interface Moment {
  readonly state: RunState;
  /** Of training, before a resume included. */
  readonly seconds: number;
  readonly stages: readonly StageSample[];
  /** What stages measure beside their gauges. */
  readonly metrics: Metrics;
  readonly generator: GeneratorGauges;
}

export class Moments extends Context.Service<
  Moments,
  {
    /** Seconds of training so far. */
    readonly seconds: () => number;
    readonly now: Effect.Effect<Moment, PolicyError>;
    /** From now on `last` is this moment. */
    readonly mark: Effect.Effect<void, PolicyError>;
    /** The moment marked last; null before the first. */
    readonly last: () => Moment | null;
  }
>()("millrace/engine/Moments") {}

/** Time counts from here, on from what the run's state has. */
export const layer: Layer.Layer<Moments, never, Bus | Dials | Policy> = Layer.effect(
  Moments,
  Effect.gen(function* () {
    const bus = yield* Bus;
    const dials = yield* Dials;
    const policy = yield* Policy;
    const servers = yield* Servers;
    const clock = yield* Clock.Clock;
    const before = bus.state().seconds;
    const started = clock.monotonicTimeNanosUnsafe();
    const seconds = () => before + Number(clock.monotonicTimeNanosUnsafe() - started) / 1e9;
    const now = Effect.map(
      policy.gauges,
      (generator): Moment => ({
        state: bus.state(),
        seconds: seconds(),
        stages: dials.all().map((dial) => dial.sample()),
        metrics: together(servers.metrics(), ...dials.all().map((dial) => dial.metrics?.() ?? new Map())),
        generator,
      }),
    );
    let last: Moment | null = null;
    const mark = Effect.map(now, (moment) => {
      last = moment;
    });
    return Moments.of({ seconds, now, mark, last: () => last });
  }),
);
