/**
 * Carries a run's events, samples and step records to their listeners, and holds the run's state. An event changes the state at once, in
 * the fiber that emits it; every listener then sees it, in the order of emission. Invariant: step writers may suspend the fiber that
 * records a step; listeners suspend nobody.
 */
import { Context, Effect, Layer, Scheduler } from "effect";
import type { EpisodeRecord } from "../domain/EpisodeRecord.ts";
import type { Event, StepRecord } from "../domain/Event.ts";
import * as RunState from "../domain/RunState.ts";
import type { StageSample } from "./Gauge.ts";
import { Listeners, type Subscribe } from "./Listeners.ts";

/** All gauges at one moment. */
export interface Sample {
  /** Milliseconds since the run started. */
  readonly elapsedMs: number;
  /** Flow stages in the order they are connected, then services. */
  readonly stages: readonly StageSample[];
  /** Settings beside the stages' slots; absent where there are none. */
  readonly settings?: readonly SettingSample[];
  /** Totals since the run started. */
  readonly tokens: { readonly generated: number; readonly trained: number };
  /** Groups admitted and without an end yet. */
  readonly groupsInFlight: number;
  readonly process: ProcessSample;
}

/** The value of a setting, and its maximum. */
export interface SettingSample {
  readonly name: string;
  readonly concurrency: number;
  readonly most: number | null;
}

/** Resources that the process uses. Totals count from its start. */
export interface ProcessSample {
  /** Milliseconds of all its threads on a core. */
  readonly cpuMs: number;
  /** Resident memory, bytes. */
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** Delay of the main thread's event loop since the sample before, milliseconds: 99th percentile and worst. */
  readonly loopLagMs: { readonly p99: number; readonly max: number };
}

/** Tokens per second between two samples; null where no time lies between them. */
export const tokenRates = (before: Sample, after: Sample): Sample["tokens"] | null => {
  const seconds = (after.elapsedMs - before.elapsedMs) / 1000;
  const rate = (kind: keyof Sample["tokens"]): number => (after.tokens[kind] - before.tokens[kind]) / seconds;
  return seconds > 0 ? { generated: rate("generated"), trained: rate("trained") } : null;
};

/** Writes a step record where it cannot be lost; suspends until it has. */
export type StepWriter = (record: StepRecord) => Effect.Effect<void>;

export class Bus extends Context.Service<
  Bus,
  {
    /** The state after all events emitted so far. */
    readonly state: () => RunState.RunState;
    /** Dies when a listener throws, after all others were told. */
    readonly emit: (event: Event) => Effect.Effect<void>;
    readonly publishSample: (sample: Sample) => Effect.Effect<void>;
    /** Suspends until every writer has written the record. */
    readonly record: (record: StepRecord) => Effect.Effect<void>;
    /** Tells of the sampled episodes of a step. */
    readonly publishEpisodes: (records: readonly EpisodeRecord[]) => Effect.Effect<void>;
    /** Suspends until those who write events down have written all that were emitted. */
    readonly flushed: Effect.Effect<void>;
    readonly onEvent: Subscribe<Event>;
    readonly onSample: Subscribe<Sample>;
    readonly onStep: Subscribe<StepRecord>;
    readonly onEpisodes: Subscribe<readonly EpisodeRecord[]>;
    readonly addStepWriter: (writer: StepWriter) => void;
    /** `written` suspends until all events so far are written down; it must end, also where they cannot be. */
    readonly addFlush: (written: Effect.Effect<void>) => void;
  }
>()("millrace/flow/Bus") {}

/** Runs an effect without yielding to other fibers, so that an event that it makes from the state still fits the state when it is emitted. */
export const atOnce = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, Scheduler.PreventSchedulerYield, true);

export const make = (initial: RunState.RunState = RunState.initial): Effect.Effect<typeof Bus.Service> =>
  Effect.sync(() => {
    let state = initial;
    const events = new Listeners<Event>();
    const samples = new Listeners<Sample>();
    const steps = new Listeners<StepRecord>();
    const episodes = new Listeners<readonly EpisodeRecord[]>();
    const stepWriters: StepWriter[] = [];
    const flushes: Effect.Effect<void>[] = [];
    // A listener may wake a fiber that emits at once: its event waits here, so that all listeners see one order.
    const pending: Event[] = [];
    let isNotifying = false;
    const notifyPending = (): void => {
      isNotifying = true;
      try {
        for (let next = pending.shift(); next !== undefined; next = pending.shift()) events.notify(next);
      } finally {
        isNotifying = false;
      }
    };
    return Bus.of({
      state: () => state,
      emit: (event) =>
        Effect.sync(() => {
          state = RunState.observe(state, event);
          pending.push(event);
          if (!isNotifying) notifyPending();
        }),
      publishSample: (sample) => Effect.sync(() => samples.notify(sample)),
      record: (record) =>
        Effect.suspend(() => {
          steps.notify(record);
          return Effect.forEach(stepWriters, (write) => write(record), { discard: true });
        }),
      publishEpisodes: (records) => Effect.sync(() => episodes.notify(records)),
      flushed: Effect.suspend(() => Effect.all(flushes, { concurrency: "unbounded", discard: true })),
      onEvent: events.subscribe,
      onSample: samples.subscribe,
      onStep: steps.subscribe,
      onEpisodes: episodes.subscribe,
      addFlush: (written) => void flushes.push(written),
      addStepWriter: (writer) => void stepWriters.push(writer),
    });
  });

export const layer = (initial?: RunState.RunState): Layer.Layer<Bus> => Layer.effect(Bus, make(initial));
