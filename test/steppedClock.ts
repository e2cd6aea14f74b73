/** A clock whose wall time a test can set back or forward while time goes on, as an administrator or NTP does. */
import { type Clock, Effect } from "effect";

export const HOUR_MS = 3_600_000;

export interface SteppedClock {
  readonly clock: Clock.Clock;
  /** Moves the wall clock by so many milliseconds; the monotonic clock and what sleeps do not notice. */
  readonly step: (ms: number) => void;
}

export const steppedClock = (clock: Clock.Clock): SteppedClock => {
  let shift = 0;
  const currentTimeMillisUnsafe = (): number => clock.currentTimeMillisUnsafe() + shift;
  const currentTimeNanosUnsafe = (): bigint => clock.currentTimeNanosUnsafe() + BigInt(shift) * 1_000_000n;
  return {
    clock: {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe),
      currentTimeNanosUnsafe,
      currentTimeNanos: Effect.sync(currentTimeNanosUnsafe),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration),
    },
    step: (ms) => {
      shift += ms;
    },
  };
};
