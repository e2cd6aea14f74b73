/**
 * Requests from many fibers become batches: while fewer than `concurrency` batches are in flight, whatever waits is shared out among
 * the free ones, at most `cap` to each. Enters: requests; leaves: their answers. Invariants: requests of one synchronous run go
 * together; nothing waits while a batch is free; a caller that gives up leaves the queue.
 */
import { type Clock, Effect, Exit, FiberSet, type Scope } from "effect";
import type { StageSample } from "../../stage/Gauge.ts";

export interface Batcher<in Request, out Answer> {
  readonly call: (request: Request) => Effect.Effect<Answer>;
  readonly concurrency: () => number;
  readonly setConcurrency: (concurrency: number) => void;
  /** Levels and integrals: `running` and `concurrency` count batches, `queue` and `items` requests. */
  readonly sample: () => StageSample;
}

export interface BatcherOptions<in Request, out Answer> {
  readonly name: string;
  readonly concurrency: number;
  /** Requests of one batch at most. */
  readonly cap: number;
  /** One answer per request, in order. */
  readonly run: (batch: readonly Request[]) => Effect.Effect<readonly Answer[]>;
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resume: (effect: Effect.Effect<Answer>) => void;
}

/** Integrates levels over time; told before each change. */
const makeMeter = (clock: Clock.Clock) => {
  const start = clock.monotonicTimeNanosUnsafe();
  const integrals = { elapsedMs: 0, busyMs: 0, starvedMs: 0, queueMs: 0 };
  return {
    integrals,
    advance: (running: number, slots: number, queue: number): void => {
      const now = Number(clock.monotonicTimeNanosUnsafe() - start) / 1e6;
      const dt = now - integrals.elapsedMs;
      integrals.elapsedMs = now;
      integrals.busyMs += running * dt;
      integrals.starvedMs += Math.max(0, slots - running) * dt;
      integrals.queueMs += queue * dt;
    },
  };
};

/** A batcher whose batches live in the current scope. */
export const make = <Request, Answer>({
  name,
  concurrency,
  cap,
  run,
}: BatcherOptions<Request, Answer>): Effect.Effect<Batcher<Request, Answer>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never, void, never>();
    const meter = makeMeter(yield* Effect.clockWith(Effect.succeed));
    const waiting = new Set<Waiting<Request, Answer>>();
    let slots = Math.max(1, concurrency);
    let running = 0;
    let items = 0;
    let scheduled = false;

    const advance = (): void => meter.advance(running, slots, waiting.size);

    const take = (count: number): readonly Waiting<Request, Answer>[] => {
      const batch: Waiting<Request, Answer>[] = [];
      for (const entry of waiting) {
        if (batch.length === count) break;
        batch.push(entry);
        waiting.delete(entry);
      }
      return batch;
    };

    const dispatch = (): void => {
      scheduled = false;
      advance();
      while (waiting.size > 0 && running < slots) {
        const batch = take(Math.min(cap, Math.ceil(waiting.size / (slots - running))));
        running++;
        const finish = (exit: Exit.Exit<readonly Answer[]>): void => {
          advance();
          running--;
          items += batch.length;
          // Callers run on from here, so the batch is counted out before, and what they ask for next is in line after.
          for (const [i, { resume }] of batch.entries()) {
            resume(Exit.isSuccess(exit) ? Effect.succeed(exit.value[i]!) : Effect.failCause(exit.cause));
          }
          dispatch();
        };
        fork(
          run(batch.map((entry) => entry.request)).pipe(
            Effect.onExit((exit) => Effect.sync(() => finish(exit))),
            Effect.asVoid,
          ),
        );
      }
    };

    // A microtask later, so that requests made in the same synchronous run share a batch.
    const schedule = (): void => {
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(dispatch);
    };

    return {
      call: (request) =>
        Effect.callback<Answer>((resume) => {
          advance();
          const entry: Waiting<Request, Answer> = { request, resume };
          waiting.add(entry);
          schedule();
          return Effect.sync(() => {
            advance();
            waiting.delete(entry);
          });
        }),
      concurrency: () => slots,
      setConcurrency: (next) => {
        advance();
        slots = Math.max(1, Math.floor(next));
        schedule();
      },
      sample: () => {
        advance();
        return {
          name,
          kind: "service",
          concurrency: slots,
          capacity: 0,
          running,
          blocked: 0,
          queue: waiting.size,
          items,
          blockedMs: 0,
          ...meter.integrals,
        };
      },
    };
  });
