/**
 * The run as rxjs streams. rxjs has no backpressure: subscribers are called back while the run goes on, and nothing waits for them.
 * Invariant: a subscriber that throws is reported by a warning, and neither the run nor another subscriber notices.
 */
import { config, Observable, type Subject, takeUntil } from "rxjs";
import type { EpisodeRecord } from "../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../domain/Event.ts";
import type { Bus, Sample } from "../flow/Bus.ts";
import type { Subscribe } from "../flow/Listeners.ts";

// rxjs would throw such an error from a timer, which ends the process.
config.onUnhandledError = (error: unknown) =>
  process.emitWarning(
    `a subscriber of the run failed: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
  );

/** Completes when `ended` emits. */
export const fromListeners = <A>(subscribe: Subscribe<A>, ended: Subject<void>): Observable<A> =>
  new Observable<A>((subscriber) => subscribe((value) => subscriber.next(value))).pipe(takeUntil(ended));

export interface Streams {
  /** The record of each step. */
  readonly steps$: Observable<StepRecord>;
  /** Every event, in order. */
  readonly events$: Observable<Event>;
  /** All gauges, every `metrics.sample_ms`. */
  readonly samples$: Observable<Sample>;
  /** The sampled episodes of each step that has some. */
  readonly episodes$: Observable<readonly EpisodeRecord[]>;
}

export const streamsOf = (bus: typeof Bus.Service, ended: Subject<void>): Streams => ({
  steps$: fromListeners(bus.onStep, ended),
  events$: fromListeners(bus.onEvent, ended),
  samples$: fromListeners(bus.onSample, ended),
  episodes$: fromListeners(bus.onEpisodes, ended),
});
