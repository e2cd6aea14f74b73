/** Measures the phases of credit and update, and returns their seconds as metrics. */
import { learner } from "../domain/metrics/learner.ts";
import type { Metric } from "../domain/metrics/Metric.ts";
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { timing } from "../domain/metrics/run.ts";

const creditMetrics = { values: timing.values, advantages: timing.advantages } as const;
type CreditPhase = keyof typeof creditMetrics;
export type Phase = CreditPhase | "update_critic" | "ref" | "old_log_prob" | "gradient_analysis" | "update_actor";

const isCreditPhase = (phase: Phase): phase is CreditPhase => Object.hasOwn(creditMetrics, phase);

const metricOf = (phase: Phase): Metric => (isCreditPhase(phase) ? creditMetrics[phase] : learner.timing.of({ phase }));

export class PhaseTimes {
  readonly #seconds: (readonly [Metric, number])[] = [];

  /** Runs `work` and records its duration under `phase`. */
  async time<A>(phase: Phase, work: () => Promise<A>): Promise<A> {
    const start = performance.now();
    const result = await work();
    this.#seconds.push([metricOf(phase), (performance.now() - start) / 1000]);
    return result;
  }

  /** Seconds of each phase, in the order in which they ended. */
  get seconds(): Metrics {
    return metricsFrom(...this.#seconds);
  }
}
