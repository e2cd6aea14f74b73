/** The load of one stage over an interval, from two samples of its gauge: its shares of slot-time, its mean queue and its mean times. */
import { type StageSample, shares, times } from "../Gauge.ts";

export interface StageLoad {
  readonly name: string;
  readonly kind: StageSample["kind"];
  readonly concurrency: number;
  /** Shares of slot-time. */
  readonly busy: number;
  readonly starved: number;
  readonly blocked: number;
  /** Mean items that waited, and were worked on. */
  readonly queue: number;
  readonly running: number;
  readonly serviceMs: number;
  readonly waitMs: number;
  readonly items: number;
  /** Estimated share of the time in which an item waited that one more slot would have taken. */
  readonly waiting: number;
}

/** A flow stage's inbox of one item is full or empty: its mean is the share. Longer queues are taken as geometric. */
const waitingShare = (capacity: number, queue: number): number =>
  capacity === 1 ? Math.min(1, queue) : queue / (1 + queue);

/**
 * A slot more takes an item that waits while all slots are taken, and nothing else: that is at most the share of slot-time that is taken. Bursts
 * make long queues in front of a stage that is free most of the time.
 */
const boundByBusy = (waiting: number, occupied: number): number => Math.min(waiting, occupied);

/** `phase` is the share of the interval in which the stage could have work at all: queues are means over that. Null where no time has passed. */
export const between = (before: StageSample | null, after: StageSample, phase = 1): StageLoad | null => {
  const elapsed = after.elapsedMs - (before?.elapsedMs ?? 0);
  if (elapsed <= 0) return null;
  const { busy, blocked, starved } = shares(before, after);
  const { serviceMs, waitMs } = times(before, after);
  const queue = (after.queueMs - (before?.queueMs ?? 0)) / elapsed;
  return {
    name: after.name,
    kind: after.kind,
    concurrency: after.concurrency,
    busy,
    starved,
    blocked,
    queue,
    running: (after.busyMs - (before?.busyMs ?? 0)) / elapsed,
    serviceMs,
    waitMs,
    items: after.items - (before?.items ?? 0),
    waiting: boundByBusy(
      waitingShare(after.capacity, queue / Math.max(phase, 0.01)),
      Math.min(1, (busy + blocked) / Math.max(phase, 0.01)),
    ),
  };
};
