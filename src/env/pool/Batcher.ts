/**
 * Collects requests of many fibers into batches. While fewer than `concurrency` batches are in flight, the waiting requests are shared out
 * among the free ones, at most `cap` to each. Invariants: requests made in one synchronous run go together; nothing waits while a batch
 * is free; a caller that gives up leaves the queue. A batch may put requests back, and answer others later than it ends.
 */
import { Effect, Exit, FiberSet, type Scope } from "effect";
import type { CallStart } from "../../flow/CallTimes.ts";
import { clockedGauge } from "../../flow/clockedGauge.ts";
import type * as Gauge from "../../flow/Gauge.ts";

export interface Batcher<in Request, out Answer> {
  readonly call: (request: Request) => Effect.Effect<Answer>;
  readonly concurrency: () => number;
  readonly setConcurrency: (concurrency: number) => void;
  /** Returns levels and integrals; `running` and `concurrency` count batches, `queue` and `items` requests. */
  readonly sample: () => Gauge.StageSample;
}

export interface BatcherOptions<in Request, out Answer> {
  readonly name: string;
  readonly concurrency: number;
  /** The most requests of one batch. */
  readonly cap: () => number;
  /** Runs a batch; it gives one reply per request, in order. */
  readonly run: (batch: readonly Request[]) => Effect.Effect<readonly Reply<Answer>[]>;
}

/** The request joins the queue again once `until` is done. */
export class Requeue {
  readonly until: Effect.Effect<void>;
  constructor(until: Effect.Effect<void> = Effect.void) {
    this.until = until;
  }
}

/** The outcome of one request of a batch: an answer that its caller waits for, or a place in the queue again. */
export type Reply<Answer> = Effect.Effect<Answer> | Requeue;

interface PendingRequest<Request, Answer> {
  readonly request: Request;
  readonly resume: (effect: Effect.Effect<Answer>) => void;
}

const replyOf = <Answer>(exit: Exit.Exit<readonly Reply<Answer>[]>, index: number): Reply<Answer> =>
  Exit.isFailure(exit)
    ? Effect.failCause(exit.cause)
    : (exit.value[index] ?? Effect.die(new Error(`a batch has no answer to its request ${index}`)));

class RequestBatcher<Request, Answer> implements Batcher<Request, Answer> {
  readonly #options: BatcherOptions<Request, Answer>;
  readonly #gauge: Gauge.Gauge;
  readonly #fork: (batch: Effect.Effect<void>) => void;
  readonly #waiting = new Set<PendingRequest<Request, Answer>>();
  #slots: number;
  #running = 0;
  #scheduled = false;

  constructor(
    options: BatcherOptions<Request, Answer>,
    gauge: Gauge.Gauge,
    fork: (batch: Effect.Effect<void>) => void,
  ) {
    this.#options = options;
    this.#gauge = gauge;
    this.#fork = fork;
    this.#slots = options.concurrency;
  }

  readonly call = (request: Request): Effect.Effect<Answer> =>
    Effect.callback<Answer>((resume) => {
      const pending: PendingRequest<Request, Answer> = { request, resume };
      this.#gauge.enqueued();
      this.#waiting.add(pending);
      this.#schedule();
      return Effect.sync(() => {
        if (this.#waiting.delete(pending)) this.#gauge.abandoned();
      });
    });

  readonly concurrency = (): number => this.#slots;

  readonly setConcurrency = (concurrency: number): void => {
    this.#slots = Math.max(1, Math.floor(concurrency));
    this.#gauge.resized(this.#slots);
    this.#schedule();
  };

  readonly sample = (): Gauge.StageSample => this.#gauge.sample();

  /** Dispatches a microtask later, so that requests made in the same synchronous run share a batch. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    while (this.#waiting.size > 0 && this.#running < this.#slots) {
      const share = Math.ceil(this.#waiting.size / (this.#slots - this.#running));
      this.#begin(this.#take(Math.min(this.#options.cap(), share)));
    }
  }

  #take(count: number): readonly PendingRequest<Request, Answer>[] {
    const batch = [...this.#waiting].slice(0, count);
    for (const pending of batch) this.#waiting.delete(pending);
    return batch;
  }

  #begin(batch: readonly PendingRequest<Request, Answer>[]): void {
    this.#running++;
    const timed = this.#gauge.callBegun(batch.length);
    this.#fork(
      this.#options.run(batch.map(({ request }) => request)).pipe(
        Effect.onExit((exit) => Effect.sync(() => this.#end(batch, timed, exit))),
        Effect.asVoid,
      ),
    );
  }

  #end(
    batch: readonly PendingRequest<Request, Answer>[],
    timed: CallStart,
    exit: Exit.Exit<readonly Reply<Answer>[]>,
  ): void {
    this.#running--;
    this.#gauge.callEnded(timed, batch.length);
    const replies = batch.map((_, at) => replyOf(exit, at));
    this.#gauge.delivered(replies.filter((reply) => !(reply instanceof Requeue)).length);
    // Callers may make their next request while they are resumed; those requests join the dispatch below.
    for (const [at, { request, resume }] of batch.entries()) {
      const reply = replies[at]!;
      resume(reply instanceof Requeue ? Effect.andThen(reply.until, this.call(request)) : reply);
    }
    this.#dispatch();
  }
}

/** A batcher whose batches live in the current scope. */
export const make = <Request, Answer>(
  options: BatcherOptions<Request, Answer>,
): Effect.Effect<Batcher<Request, Answer>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never, void, never>();
    const concurrency = Math.max(1, options.concurrency);
    const gauge = yield* clockedGauge({ name: options.name, kind: "service", concurrency, capacity: 0 });
    return new RequestBatcher({ ...options, concurrency }, gauge, fork);
  });
