/**
 * Halves the groups in flight when the process comes near its memory limit, before the kernel kills it. Invariant: it never lets more groups
 * play than before; that is left to people and to the autotuner.
 */
import { Effect, Queue } from "effect";
import type { Control } from "../domain/Control.ts";
import { Bus, type Sample } from "../flow/Bus.ts";
import { Controls } from "../observe/control/Controls.ts";
import { currentLimits } from "../support/process/memoryLimits.ts";

/** Share of the limit from which on memory is short. */
const SHORT_SHARE = 0.92;
/** Milliseconds between two halvings: the groups that play on have to end before memory falls. */
const PAUSE_MS = 30_000;
const STAGE = "rollout";

/** When groups in flight were halved last, milliseconds since the run started; null before. */
export type LastHalved = number | null;

export interface Pressure {
  readonly elapsedMs: number;
  readonly rssBytes: number;
  readonly limitBytes: number;
  /** Groups that may be in flight. */
  readonly concurrency: number;
}

/** Returns the groups that may be in flight from now on; null where that stays as it is. */
export const halvedUnder = (
  last: LastHalved,
  { concurrency, elapsedMs, limitBytes, rssBytes }: Pressure,
): number | null => {
  if (rssBytes < SHORT_SHARE * limitBytes || concurrency <= 1) return null;
  if (last !== null && elapsedMs - last < PAUSE_MS) return null;
  return Math.floor(concurrency / 2);
};

/** The lowest limit of this process on memory that it uses; infinite where the system reports none. */
export const memoryLimit = (): number =>
  currentLimits()
    .filter(({ resource }) => resource === "memory")
    .reduce((lowest, { bytes }) => Math.min(lowest, bytes), Number.POSITIVE_INFINITY);

const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const reasonOf = (rssBytes: number, limitBytes: number): string =>
  `${gibibytes(rssBytes)} of ${gibibytes(limitBytes)} of memory are in use`;

export interface WatchOptions {
  readonly limitBytes: number;
  /** Carries a decision out. */
  readonly apply: (control: Control, reason: string) => Effect.Effect<void>;
}

/** Watches the samples of the run until it is interrupted. */
export const watch = ({ apply, limitBytes }: WatchOptions): Effect.Effect<never, never, Bus> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const samples = yield* Queue.sliding<Sample>(1);
    const unsubscribe = bus.onSample((sample) => {
      Queue.offerUnsafe(samples, sample);
    });
    yield* Effect.addFinalizer(() => Effect.sync(unsubscribe));
    let last: LastHalved = null;
    return yield* Effect.forever(
      Effect.gen(function* () {
        const { elapsedMs, process, stages } = yield* Queue.take(samples);
        const concurrency = stages.find(({ name }) => name === STAGE)?.concurrency ?? 1;
        const { rssBytes } = process;
        const next = halvedUnder(last, { elapsedMs, rssBytes, limitBytes, concurrency });
        if (next === null) return;
        last = elapsedMs;
        yield* apply({ _tag: "SetConcurrency", stage: STAGE, concurrency: next }, reasonOf(rssBytes, limitBytes));
      }),
    );
  }).pipe(Effect.scoped);

/** Watches the memory of a run's process. A mode whose groups in flight are fixed refuses the control, and goes on as it is. */
export const ofRun: Effect.Effect<never, never, Bus | Controls> = Effect.flatMap(Controls, ({ apply }) =>
  watch({
    limitBytes: memoryLimit(),
    apply: (control, reason) =>
      Effect.ignore(
        Effect.andThen(
          apply(control, "memory", reason),
          Effect.logWarning(`memory is short, so fewer groups play at once: ${reason}`),
        ),
      ),
  }),
);
