/**
 * A clock whose sleeps end when they should. Node's timers count whole milliseconds of a cached time, so a 10 ms timer is wrong by
 * up to a tenth, late or early; these sleep on a timer until shortly before and then turn the event loop until the instant.
 * They keep a core busy, which is free where all service times are timers.
 */
import { Clock, Duration, Effect } from "effect";
import { Heap } from "../src/tools/simulation/Heap.ts";

/** Milliseconds before a sleep's end at which it stops waiting on a timer and turns the event loop. */
const LEAD = 2.5;

interface Sleeper {
  readonly at: number;
  wake: (() => void) | undefined;
}

export interface ExactClock extends Clock.Clock {
  /** Lateness of each sleep so far, in milliseconds: the machine's share of the run's time, not the engine's. */
  readonly lateness: readonly number[];
}

export const exactClock: Effect.Effect<ExactClock> = Effect.map(Clock.Clock, (base): ExactClock => {
  const lateness: number[] = [];
  const sleepers = new Heap<Sleeper>((a, b) => a.at - b.at);
  let turning = false;
  let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined;

  const arm = (): void => {
    const next = sleepers.peek();
    if (next === undefined || turning) return;
    const due = next.at - LEAD;
    if (timer !== undefined && timer.at <= due) return;
    if (timer !== undefined) clearTimeout(timer.handle);
    timer = undefined;
    const left = due - performance.now();
    if (left < 1) {
      turning = true;
      setImmediate(turn);
      return;
    }
    timer = { at: due, handle: setTimeout(fire, left) };
  };
  const fire = (): void => {
    timer = undefined;
    arm();
  };
  const turn = (): void => {
    for (let next = sleepers.peek(); next !== undefined; next = sleepers.peek()) {
      const late = performance.now() - next.at;
      if (late < 0) break;
      sleepers.pop();
      if (next.wake === undefined) continue;
      lateness.push(late);
      next.wake();
    }
    const next = sleepers.peek();
    if (next !== undefined && next.at - performance.now() <= LEAD + 1) {
      setImmediate(turn);
      return;
    }
    turning = false;
    arm();
  };

  return {
    lateness,
    currentTimeMillisUnsafe: () => base.currentTimeMillisUnsafe(),
    currentTimeMillis: base.currentTimeMillis,
    currentTimeNanosUnsafe: () => base.currentTimeNanosUnsafe(),
    currentTimeNanos: base.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: base.monotonicTimeNanos,
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const sleeper: Sleeper = {
          at: performance.now() + Duration.toMillis(duration),
          wake: () => resume(Effect.void),
        };
        sleepers.push(sleeper);
        arm();
        return Effect.sync(() => {
          sleeper.wake = undefined;
        });
      }),
  };
});
