/**
 * A clock whose time jumps to the end of the earliest sleep as soon as nothing else can happen. A run of hours takes
 * as long as its own work. The clock turns the event loop a few times, and looks at the file operations under way, to
 * see whether anything can still happen.
 */
import { Clock, Duration, Effect } from "effect";
import { Heap } from "../src/tools/simulation/Heap.ts";

interface Sleeper {
  readonly at: number;
  readonly order: number;
  wake: (() => void) | undefined;
}

/** Turns of the loop without a new sleep after which all fibers are taken to be waiting. */
const QUIET = 4;

/** True while an operation on a file is under way: its end may be many turns away. */
const filesPending = (): boolean => process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name));

/** Runs an effect on virtual time; milliseconds of its clock are what `Effect.sleep` counts. */
export const inVirtualTime = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const sleepers = new Heap<Sleeper>((a, b) => a.at - b.at || a.order - b.order);
    let now = 0;
    let order = 0;
    let over = false;
    const nanos = (): bigint => BigInt(Math.round(now * 1e6));
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const sleeper: Sleeper = {
            at: now + Duration.toMillis(duration),
            order: order++,
            wake: () => resume(Effect.void),
          };
          sleepers.push(sleeper);
          return Effect.sync(() => {
            sleeper.wake = undefined;
          });
        }),
    };
    let quiet = 0;
    let seen = 0;
    const turn = (): void => {
      if (over) return;
      quiet = order === seen && !filesPending() ? quiet + 1 : 0;
      seen = order;
      if (quiet >= QUIET) {
        quiet = 0;
        const next = sleepers.pop();
        if (next?.wake !== undefined) {
          now = next.at;
          next.wake();
        }
      }
      setImmediate(turn);
    };
    setImmediate(turn);
    return yield* Effect.ensuring(
      Effect.provideService(effect, Clock.Clock, clock),
      Effect.sync(() => {
        over = true;
      }),
    );
  });
