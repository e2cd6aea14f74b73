/** A stopwatch over the phases of one update. */
import { learner } from "../domain/metrics/learner.ts";
import type { Metric } from "../domain/metrics/Metric.ts";
import { type Metrics, measured } from "../domain/metrics/Metrics.ts";

export type Phase = "update_critic" | "ref" | "old_log_prob" | "gradient_analysis" | "update_actor";

export class Phases {
  readonly #seconds: (readonly [Metric, number])[] = [];

  /** What `work` comes to; its time is noted once it is done. */
  async time<A>(phase: Phase, work: () => Promise<A>): Promise<A> {
    const start = performance.now();
    const result = await work();
    this.#seconds.push([learner.timing.of({ phase }), (performance.now() - start) / 1000]);
    return result;
  }

  /** Seconds of each phase, in the order they ended. */
  get seconds(): Metrics {
    return measured(...this.#seconds);
  }
}
