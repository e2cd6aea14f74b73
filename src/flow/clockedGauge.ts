/** A gauge on the clock of the current fiber, started now. */
import { Effect } from "effect";
import { Gauge, type GaugeOptions } from "./Gauge.ts";

export const clockedGauge = (options: GaugeOptions): Effect.Effect<Gauge> =>
  Effect.clockWith((clock) => Effect.sync(() => new Gauge(options, clock)));
