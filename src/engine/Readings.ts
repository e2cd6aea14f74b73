/**
 * Everything that is measured in a run, at one moment: its state, the gauges of its stages and generators, and the time it has trained. A
 * step record compares two moments.
 */
import { Clock, Context, Effect, Layer } from "effect";
import type { PolicyError } from "../domain/Errors.ts";
import { type Metrics, mergeMetrics } from "../domain/metrics/Metrics.ts";
import type { RunState } from "../domain/RunState.ts";
import { Bus } from "../flow/Bus.ts";
import type { StageSample } from "../flow/Gauge.ts";
import { Servers } from "../flow/Servers.ts";
import { StageRegistry } from "../flow/StageRegistry.ts";
import { type GeneratorGauges, Policy } from "../generation/Policy.ts";

export interface Reading {
  readonly state: RunState;
  /** Seconds of training so far, those before a resume included. */
  readonly seconds: number;
  readonly stages: readonly StageSample[];
  /** Metrics that stages measure beside their gauges. */
  readonly metrics: Metrics;
  readonly generator: GeneratorGauges;
}

export class Readings extends Context.Service<
  Readings,
  {
    /** Seconds of training so far. */
    readonly seconds: () => number;
    readonly read: Effect.Effect<Reading, PolicyError>;
    /** From now on `last` is this moment. */
    readonly markStep: Effect.Effect<void, PolicyError>;
    /** The moment marked last; null before the first. */
    readonly last: () => Reading | null;
  }
>()("millrace/engine/Readings") {}

/** Time counts from here, on from what the run's state has. */
export const layer: Layer.Layer<Readings, never, Bus | StageRegistry | Policy> = Layer.effect(
  Readings,
  Effect.gen(function* () {
    const bus = yield* Bus;
    const registry = yield* StageRegistry;
    const policy = yield* Policy;
    const servers = yield* Servers;
    const clock = yield* Clock.Clock;
    const before = bus.state().seconds;
    const started = clock.monotonicTimeNanosUnsafe();
    const seconds = () => before + Number(clock.monotonicTimeNanosUnsafe() - started) / 1e9;
    const read = Effect.map(
      policy.gauges,
      (generator): Reading => ({
        state: bus.state(),
        seconds: seconds(),
        stages: registry.stages().map((stage) => stage.sample()),
        metrics: mergeMetrics(servers.metrics(), ...registry.stages().map((stage) => stage.metrics?.() ?? new Map())),
        generator,
      }),
    );
    let last: Reading | null = null;
    const mark = Effect.map(read, (reading) => {
      last = reading;
    });
    return Readings.of({ seconds, read, markStep: mark, last: () => last });
  }),
);
