/**
 * One environment thread: a piscina pool of a single worker, which answers one batch at a time. If a request takes too long or ends the
 * thread, the result says where the batch stopped; the thread is usable afterwards unless `isLost`.
 */
import { Effect, Option, Schema } from "effect";
import { Piscina } from "piscina";
import { compileCacheFolder } from "../../support/process/compileCache.ts";
import type { Answer, Request } from "../contract/Request.ts";
import type { Batch, BatchReply, Setup } from "./worker.ts";

/** The thread exited, ran out of memory, or returned a value that cannot be cloned. */
export class ThreadLost extends Schema.TaggedError<ThreadLost>()("ThreadLost", { message: Schema.String }) {}

/** The answers of a batch, in order; fewer than its requests where it stopped. */
export interface BatchResult {
  readonly answers: readonly Answer[];
  /** The milliseconds that each answered request took. */
  readonly times: readonly number[];
  readonly stop: BatchStop | null;
}

export interface BatchStop {
  readonly cause: "hang" | "crash";
  /** The index of the request that was running; null where the thread was lost between requests. */
  readonly at: number | null;
  readonly message: string;
}

export interface BatchLimits {
  /** The milliseconds that one request may take. */
  readonly requestMs: number;
  /** The worker interrupts a request itself, which saves the thread unless the request blocks. */
  readonly interrupt: boolean;
  /** The thread takes the lowest priority from now on (Linux). */
  readonly giveWay: boolean;
}

/** An interruption may be so many milliseconds late before the thread is given up. */
const graceMs = 500;
/** A loaded thread may be silent for so many milliseconds: it neither begins a batch nor delivers its reply. */
const silenceMs = 10_000;

/** The end of a thread is waited for so many milliseconds. */
const endMs = 1_000;

const lossMessage = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : "the thread ended without a reason";

const stoppedResult = (cause: BatchStop["cause"], at: number | null, message: string): BatchResult => ({
  answers: [],
  times: [],
  stop: { cause, at, message },
});

export class Thread {
  readonly #pool: Piscina<Batch, BatchReply>;
  /** The index of the running request, written by the worker; -1 before the first, the batch's length after the last. */
  readonly #position = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #lost = false;

  constructor(setup: Omit<Setup, "position" | "compileCache">) {
    this.#pool = new Piscina<Batch, BatchReply>({
      filename: new URL("./entry.ts", import.meta.url).href,
      minThreads: 1,
      maxThreads: 1,
      maxQueue: Number.POSITIVE_INFINITY,
      // Otherwise a thread stops its event loop between tasks.
      atomics: "disabled",
      recordTiming: false,
      workerData: { ...setup, position: this.#position, compileCache: compileCacheFolder() } satisfies Setup,
    });
    this.#pool.on("error", () => {
      this.#lost = true;
    });
  }

  /** The thread has ended, or is given up, and takes no batch any more. */
  isLost(): boolean {
    return this.#lost;
  }

  #send(batch: Batch): Promise<BatchReply | ThreadLost> {
    Atomics.store(this.#position, 0, -1);
    return this.#pool.run(batch).catch((cause: unknown) => {
      this.#lost = true;
      return new ThreadLost({ message: lossMessage(cause) });
    });
  }

  /** Completes once the environments are loaded, and fails with the reason why they are not. */
  readonly loaded: Effect.Effect<void, ThreadLost> = Effect.flatMap(
    Effect.promise(() => this.#send({ requests: [], interruptMs: null, giveWay: false })),
    (reply) => (reply instanceof ThreadLost ? Effect.fail(reply) : Effect.void),
  );

  readonly run = (requests: readonly Request[], limits: BatchLimits): Effect.Effect<BatchResult> =>
    Effect.suspend(() => {
      const { giveWay, interrupt, requestMs } = limits;
      const reply = this.#send({ requests, interruptMs: interrupt ? requestMs : null, giveWay });
      return Effect.map(this.#wait(reply, requests.length, requestMs + (interrupt ? graceMs : 0)), (outcome) => {
        if (outcome instanceof ThreadLost)
          return stoppedResult("crash", this.#running(requests.length), outcome.message);
        if ("answers" in outcome) return this.#resultOf(outcome);
        this.#lost = true;
        return stoppedResult("hang", outcome.running, "the thread gives no answer");
      });
    });

  #resultOf({ answers, interrupted, times }: BatchReply): BatchResult {
    const stop = interrupted ? ({ cause: "hang", at: answers.length, message: "interrupted" } as const) : null;
    return { answers, times, stop };
  }

  /** The request that is running now; null where none is. */
  #running(requests: number): number | null {
    const position = Atomics.load(this.#position, 0);
    return position >= 0 && position < requests ? position : null;
  }

  /**
   * The reply, or the request that was running for too long (null where none was, and no reply came). It compares the position with the one
   * before the wait, so that an answer that a busy main thread reads late is no hang.
   */
  readonly #wait = Effect.fnUntraced(function* (
    this: Thread,
    reply: Promise<BatchReply | ThreadLost>,
    requests: number,
    requestMs: number,
  ): Effect.fn.Return<BatchReply | ThreadLost | { readonly running: number | null }> {
    const answered = Effect.promise(() => reply);
    let silentMs = 0;
    for (;;) {
      const before = Atomics.load(this.#position, 0);
      const outcome = yield* Effect.timeoutOption(answered, requestMs);
      if (Option.isSome(outcome)) return outcome.value;
      const running = this.#running(requests);
      silentMs = Atomics.load(this.#position, 0) === before ? silentMs + requestMs : 0;
      if (silentMs > 0 && (running !== null || silentMs >= silenceMs)) return { running };
    }
  });

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#lost = true;
    const destroyed = Effect.promise(() => this.#pool.destroy());
    // A thread in a system call ends only after it, and nobody waits that long.
    return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(destroyed), endMs));
  });
}
