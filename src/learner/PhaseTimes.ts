/** A stopwatch over the phases of credit and update. */
import { learner } from "../domain/metrics/learner.ts";
import type { Metric } from "../domain/metrics/Metric.ts";
import { type Metrics, measured } from "../domain/metrics/Metrics.ts";
import { timing } from "../domain/metrics/run.ts";

/** Phases of credit. */
const creditMetrics = { values: timing.values, advantages: timing.advantages } as const;
type CreditPhase = keyof typeof creditMetrics;
export type Phase = CreditPhase | "update_critic" | "ref" | "old_log_prob" | "gradient_analysis" | "update_actor";

const isCreditPhase = (phase: Phase): phase is CreditPhase => Object.hasOwn(creditMetrics, phase);

const metricOf = (phase: Phase): Metric => (isCreditPhase(phase) ? creditMetrics[phase] : learner.timing.of({ phase }));

export class PhaseTimes {
  readonly #seconds: (readonly [Metric, number])[] = [];

  /** Returns what `work` comes to and notes its time once it is done. */
  async time<A>(phase: Phase, work: () => Promise<A>): Promise<A> {
    const start = performance.now();
    const result = await work();
    this.#seconds.push([metricOf(phase), (performance.now() - start) / 1000]);
    return result;
  }

  /** Seconds of each phase, in the order they ended. */
  get seconds(): Metrics {
    return measured(...this.#seconds);
  }
}
