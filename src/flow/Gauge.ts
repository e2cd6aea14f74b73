/**
 * Measures a stage: it counts items as they are enqueued, begun, finished and delivered, and integrates the levels over time. Invariant:
 * busy + blocked + starved slot-time equals the integral of the concurrency, so shares sum to 1. Mean wait and service times follow from
 * the integrals (Little's law, L = λW); only a service's calls carry time stamps.
 */
// A type only: generator threads load this file, and should not load Effect.
import type { Clock } from "effect";
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { stage } from "../domain/metrics/run.ts";
import { type CallStart, CallTimes, type LevelBand } from "./CallTimes.ts";

/** A stage at one moment. Integrals are slot-milliseconds (item-milliseconds for the queue) since the stage was made. */
export interface StageSample {
  readonly name: string;
  readonly kind: "flow" | "service";
  /** Milliseconds since the stage was made. */
  readonly elapsedMs: number;
  readonly concurrency: number;
  /** Capacity of the inbox; 0 for a service, whose callers wait on their own fibers. */
  readonly capacity: number;
  /** Items being worked on. */
  readonly running: number;
  /** Items that wait for what is downstream; each holds its slot. */
  readonly blocked: number;
  /** Items in the inbox, or callers waiting. */
  readonly queue: number;
  /** Items passed on. */
  readonly items: number;
  readonly busyMs: number;
  readonly blockedMs: number;
  readonly starvedMs: number;
  readonly queueMs: number;
  /** Times of a service's calls by the level at which they began; empty where calls are not timed. */
  readonly calls: readonly LevelBand[];
}

/** A stage of one slot and no inbox at the moment it is made. */
export const emptySample = (name: string): StageSample => ({
  name,
  kind: "flow",
  elapsedMs: 0,
  concurrency: 1,
  capacity: 0,
  running: 0,
  blocked: 0,
  queue: 0,
  items: 0,
  busyMs: 0,
  blockedMs: 0,
  starvedMs: 0,
  queueMs: 0,
  calls: [],
});

/** The part of a clock that a gauge reads. */
export type GaugeClock = Pick<Clock.Clock, "monotonicTimeNanosUnsafe">;

export interface GaugeOptions {
  readonly name: string;
  readonly kind: StageSample["kind"];
  readonly concurrency: number;
  readonly capacity: number;
}

/** A stage's levels and their integrals over time. */
export class Gauge {
  readonly #options: GaugeOptions;
  readonly #clock: GaugeClock;
  readonly #start: bigint;
  #slots: number;
  #running = 0;
  #blocked = 0;
  #queue = 0;
  #items = 0;
  #last = 0;
  #busyMs = 0;
  #blockedMs = 0;
  #starvedMs = 0;
  #queueMs = 0;
  readonly #calls = new CallTimes();

  constructor(options: GaugeOptions, clock: GaugeClock) {
    this.#options = options;
    this.#clock = clock;
    this.#start = clock.monotonicTimeNanosUnsafe();
    this.#slots = options.concurrency;
  }

  enqueued(): void {
    this.#advance();
    this.#queue++;
  }

  /** A waiting caller gave up. */
  abandoned(): void {
    this.#advance();
    this.#queue--;
  }

  /** A slot begins work on `items` of the queue: one, or a batch. */
  begun(items = 1): void {
    this.#advance();
    this.#queue -= items;
    this.#running++;
  }

  /** The same, of a call that is timed. */
  callBegun(items = 1): CallStart {
    this.begun(items);
    this.#calls.begin(this.#running);
    return { since: this.#last, level: this.#running };
  }

  /** A timed call of so many items is done. */
  callEnded({ level, since }: CallStart, items = 1): void {
    this.finished();
    this.#calls.end(level, (this.#last - since) / items);
  }

  /** Work is done; the slot now waits for room downstream. */
  finished(): void {
    this.#advance();
    this.#running--;
    this.#blocked++;
  }

  /** A finished slot passed its `items` on and is free. */
  delivered(items = 1): void {
    this.#advance();
    this.#blocked--;
    this.#items += items;
  }

  resized(concurrency: number): void {
    this.#advance();
    this.#slots = concurrency;
  }

  sample(): StageSample {
    this.#advance();
    const { capacity, kind, name } = this.#options;
    return {
      name,
      kind,
      elapsedMs: this.#last,
      concurrency: this.#slots,
      capacity,
      running: this.#running,
      blocked: this.#blocked,
      queue: this.#queue,
      items: this.#items,
      busyMs: this.#busyMs,
      blockedMs: this.#blockedMs,
      starvedMs: this.#starvedMs,
      queueMs: this.#queueMs,
      calls: this.#calls.sample(),
    };
  }

  #advance(): void {
    const now = Number(this.#clock.monotonicTimeNanosUnsafe() - this.#start) / 1e6;
    const dt = now - this.#last;
    if (dt <= 0) return;
    this.#last = now;
    this.#busyMs += this.#running * dt;
    this.#blockedMs += this.#blocked * dt;
    this.#queueMs += this.#queue * dt;
    // Work that outlives a shrink runs above the concurrency: then no slot is starved.
    this.#starvedMs += Math.max(0, this.#slots - this.#running - this.#blocked) * dt;
  }
}

/** Samples of the parts of one stage as one: slots, levels, items and slot-time add up. */
export const sum = (a: StageSample, b: StageSample): StageSample => ({
  name: a.name,
  kind: a.kind,
  elapsedMs: Math.max(a.elapsedMs, b.elapsedMs),
  concurrency: a.concurrency + b.concurrency,
  capacity: a.capacity + b.capacity,
  running: a.running + b.running,
  blocked: a.blocked + b.blocked,
  queue: a.queue + b.queue,
  items: a.items + b.items,
  busyMs: a.busyMs + b.busyMs,
  blockedMs: a.blockedMs + b.blockedMs,
  starvedMs: a.starvedMs + b.starvedMs,
  queueMs: a.queueMs + b.queueMs,
  calls: [],
});

/** Shares of a stage's slot-time; they sum to 1 over any interval of positive length. */
export interface Shares {
  readonly busy: number;
  readonly starved: number;
  readonly blocked: number;
}

/** Shares over the interval between two samples of one stage; from its start when `before` is null. */
export const shares = (before: StageSample | null, after: StageSample): Shares => {
  const busy = after.busyMs - (before?.busyMs ?? 0);
  const blocked = after.blockedMs - (before?.blockedMs ?? 0);
  const starved = after.starvedMs - (before?.starvedMs ?? 0);
  const total = busy + blocked + starved;
  return total > 0
    ? { busy: busy / total, starved: starved / total, blocked: blocked / total }
    : { busy: 0, starved: 1, blocked: 0 };
};

/** Mean time an item waited in the inbox and was worked on, milliseconds; 0 while nothing passed. */
export const times = (
  before: StageSample | null,
  after: StageSample,
): { readonly waitMs: number; readonly serviceMs: number } => {
  const passed = after.items - (before?.items ?? 0);
  if (passed <= 0) return { waitMs: 0, serviceMs: 0 };
  return {
    waitMs: (after.queueMs - (before?.queueMs ?? 0)) / passed,
    serviceMs: (after.busyMs - (before?.busyMs ?? 0)) / passed,
  };
};

/** Metrics of the interval: shares, mean queue depth, concurrency now, items passed. */
export const metrics = (before: StageSample | null, after: StageSample): Metrics => {
  const share = shares(before, after);
  const elapsed = after.elapsedMs - (before?.elapsedMs ?? 0);
  const labels = { stage: after.name };
  return metricsFrom(
    [stage.busy.of(labels), share.busy],
    [stage.starved.of(labels), share.starved],
    [stage.blocked.of(labels), share.blocked],
    [stage.queue.of(labels), elapsed > 0 ? (after.queueMs - (before?.queueMs ?? 0)) / elapsed : after.queue],
    [stage.concurrency.of(labels), after.concurrency],
    [stage.items.of(labels), after.items - (before?.items ?? 0)],
  );
};
