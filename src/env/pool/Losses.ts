/** What misbehaving environments have cost the step threads so far, and do at this moment, as a value and as metrics. */
import { type Metrics, measured } from "../../domain/metrics/Metrics.ts";
import { stepping } from "../../domain/metrics/run.ts";

export interface Losses {
  /** Threads lost to hangs and crashes. */
  readonly threads: number;
  /** Seconds of threads that were ended because a step hung. */
  readonly hungSeconds: number;
  /** Steps on trial, or waiting for it. */
  readonly suspects: number;
  /** Instances whose steps fail at once. */
  readonly quarantined: number;
  /** Errors outside of any step. */
  readonly strays: number;
}

export const none: Losses = { threads: 0, hungSeconds: 0, suspects: 0, quarantined: 0, strays: 0 };

export const metricsOf = ({ hungSeconds, quarantined, strays, suspects, threads }: Losses): Metrics =>
  measured(
    [stepping.lostThreads, threads],
    [stepping.hungSeconds, hungSeconds],
    [stepping.suspects, suspects],
    [stepping.quarantined, quarantined],
    [stepping.strays, strays],
  );
