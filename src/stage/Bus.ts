/**
 * How a run tells what happens. In: events, gauge samples, step records; out: three paths with three promises. Observers (state
 * machines) are told every event at once, in the one order of emission. Subscribers of events and samples get a
 * sliding view that may lose the oldest. Step records are lossless: a full path suspends who records, and `close` ends it after
 * the last one is taken.
 */
import { Cause, Effect, PubSub, Queue, type Scope } from "effect";
import type { Event, StepRecord } from "../domain/Event.ts";
import type { StageSample } from "./Gauge.ts";

/** All gauges at one moment. */
export interface Sample {
  /** Milliseconds since the run started. */
  readonly elapsedMs: number;
  /** Flow stages in the order they are connected, then services. */
  readonly stages: readonly StageSample[];
  /** Totals since the run started. */
  readonly tokens: { readonly generated: number; readonly trained: number };
  /** Groups admitted and without an end yet. */
  readonly groupsInFlight: number;
}

/** Suspends until the next message; fails with `Cause.Done` after the last. */
export type Pull<A> = Effect.Effect<A, Cause.Done>;

export interface Bus {
  readonly emit: (event: Event) => Effect.Effect<void>;
  /** Adds a state machine that must see every event; it neither suspends nor throws. */
  readonly observe: (observer: (event: Event) => void) => void;
  readonly sampled: (sample: Sample) => Effect.Effect<void>;
  readonly record: (record: StepRecord) => Effect.Effect<void>;
  readonly events: Effect.Effect<Pull<Event>, never, Scope.Scope>;
  /** Starts with the newest sample there is. */
  readonly samples: Effect.Effect<Pull<Sample>, never, Scope.Scope>;
  /** For one reader. */
  readonly records: Pull<StepRecord>;
  /** Ends all three paths; what they hold is still read. */
  readonly close: Effect.Effect<void>;
}

/** Ends a subscription behind the messages it still holds. */
const last: unique symbol = Symbol("last");

const subscribe = <A>(hub: PubSub.PubSub<A | typeof last>): Effect.Effect<Pull<A>, never, Scope.Scope> =>
  Effect.map(PubSub.subscribe(hub), (subscription) =>
    Effect.flatMap(PubSub.take(subscription), (message) =>
      message === last ? Effect.fail(Cause.Done()) : Effect.succeed(message),
    ),
  );

export const make = ({ sliding = 256, records: capacity = 64 } = {}): Effect.Effect<Bus> =>
  Effect.gen(function* () {
    const observers: ((event: Event) => void)[] = [];
    // An observer may wake a fiber that emits at once: its event waits here, so that all see one order.
    const pending: Event[] = [];
    let telling = false;
    const events = yield* PubSub.sliding<Event | typeof last>(sliding);
    const samples = yield* PubSub.sliding<Sample | typeof last>({ capacity: sliding, replay: 1 });
    const records = yield* Queue.bounded<StepRecord, Cause.Done>(capacity);
    return {
      emit: (event) =>
        Effect.sync(() => {
          pending.push(event);
          if (telling) return;
          telling = true;
          for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
            for (const observer of observers) observer(next);
            PubSub.publishUnsafe(events, next);
          }
          telling = false;
        }),
      observe: (observer) => {
        observers.push(observer);
      },
      sampled: (sample) => PubSub.publish(samples, sample),
      record: (record) => Queue.offer(records, record),
      events: subscribe(events),
      samples: subscribe(samples),
      records: Queue.take(records),
      close: Effect.all([Queue.end(records), PubSub.end(events, last), PubSub.end(samples, last)], { discard: true }),
    };
  });
