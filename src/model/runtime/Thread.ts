/**
 * A worker thread with a typed port, which lives as long as its scope. Calls come back as effects, and interrupting one cancels it in
 * the thread.
 * Invariants: when the thread dies, every waiting call and every later one fails at once; a failure's cause is the thread's error with
 * its stack.
 */
import type { Worker } from "node:worker_threads";
import * as Effect from "effect/Effect";
import type { Scope } from "effect/Scope";
import { fromPortable } from "./PortableError.ts";
import type { CallName, FromThread, Protocol, Request, Response, ToThread, Transferable } from "./ThreadProtocol.ts";
import { startWorker, type ThreadEntry, ThreadsAhead } from "./ThreadsAhead.ts";

/**
 * Why a call failed: the thread is gone, or the code inside refused this call (`code` is its own word for why). `cause` is the error
 * of the thread; where the thread ended without one, it says so.
 */
export type ThreadFailure =
  | { readonly reason: "thread_died"; readonly message: string; readonly cause: Error }
  | { readonly reason: "call_failed"; readonly code: string; readonly message: string; readonly cause: Error };

export interface Thread<P extends Protocol, E> {
  readonly call: <K extends CallName<P>>(
    name: K,
    request: Request<P, K>,
    transfer?: readonly Transferable[],
  ) => Effect.Effect<Response<P, K>, E>;
  /** Suspends until the thread is gone and then fails. */
  readonly died: Effect.Effect<never, E>;
  /** The failure if the thread is gone. */
  readonly death: () => E | undefined;
}

export interface ThreadOptions<P extends Protocol, E> extends ThreadEntry {
  /** Makes the caller's own kind of error of a failure. */
  readonly fail: (failure: ThreadFailure) => E;
  readonly onEvent?: (event: P["events"]) => void;
  /** Called once, when the thread is gone. */
  readonly onDeath?: (error: E) => void;
}

let live = 0;
/** Threads whose scope is still open. */
export const liveThreads = (): number => live;

let abandoned = 0;
/** Threads that were closed and have not ended: they are inside native code. */
export const abandonedThreads = (): number => abandoned;

interface OpenCall<E> {
  readonly answer: (response: unknown) => void;
  readonly fail: (error: E) => void;
}

/** Longest wait for a closing thread. */
const CLOSE_DEADLINE = "5 seconds";

class WorkerThread<P extends Protocol, E> implements Thread<P, E> {
  readonly #options: ThreadOptions<P, E>;
  readonly #worker: Worker;
  readonly #calls = new Map<number, OpenCall<E>>();
  readonly #deathListeners = new Set<(error: E) => void>();
  readonly #exited: Promise<void>;
  #nextId = 0;
  #death: E | undefined;
  #abandoned = false;

  constructor(options: ThreadOptions<P, E>, worker: Worker) {
    const { name } = options;
    this.#options = options;
    this.#worker = worker;
    live++;
    this.#worker.on("message", (message: FromThread<P>) => this.#receive(message));
    this.#worker.on("error", (thrown) => {
      const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#die(`${name} died: ${cause.message}`, cause);
    });
    this.#worker.on("messageerror", (cause) => this.#die(`${name} sent what cannot be read: ${cause.message}`, cause));
    this.#exited = new Promise((resolve) =>
      this.#worker.on("exit", (code) => {
        const message = `${name} ended (exit code ${code})`;
        if (this.#abandoned) abandoned--;
        this.#die(message, new Error(message));
        resolve();
      }),
    );
  }

  readonly call: Thread<P, E>["call"] = (name, request, transfer) =>
    Effect.callback<Response<P, typeof name>, E>((resume) => {
      if (this.#death !== undefined) {
        resume(Effect.fail(this.#death));
        return;
      }
      const id = this.#nextId++;
      this.#calls.set(id, {
        answer: (response) => resume(Effect.succeed(response)),
        fail: (error) => resume(Effect.fail(error)),
      });
      this.#post({ _tag: "call", id, name, request }, transfer);
      return Effect.sync(() => {
        if (this.#calls.delete(id)) this.#post({ _tag: "cancel", id });
      });
    });

  readonly died: Effect.Effect<never, E> = Effect.callback<never, E>((resume) => {
    if (this.#death !== undefined) {
      resume(Effect.fail(this.#death));
      return;
    }
    const listener = (error: E): void => resume(Effect.fail(error));
    this.#deathListeners.add(listener);
    return Effect.sync(() => {
      this.#deathListeners.delete(listener);
    });
  });

  readonly death = (): E | undefined => this.#death;

  /**
   * Asks the thread to end and waits until it has, or until the deadline: then it ends when its native call returns, and no longer keeps the
   * process alive. To terminate it inside that call would abort the process.
   */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    live--;
    if (this.#death === undefined) this.#post({ _tag: "close" });
    return Effect.timeoutOrElse(
      Effect.promise(() => this.#exited),
      { duration: CLOSE_DEADLINE, orElse: () => Effect.sync(() => this.#abandon()) },
    );
  });

  #abandon(): void {
    abandoned++;
    this.#abandoned = true;
    this.#worker.unref();
  }

  #post(message: ToThread<P>, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #receive(message: FromThread<P>): void {
    if (message._tag === "event") {
      this.#options.onEvent?.(message.event);
      return;
    }
    const call = this.#calls.get(message.id);
    if (call === undefined) return;
    this.#calls.delete(message.id);
    if (message._tag === "answer") {
      call.answer(message.response);
      return;
    }
    const cause = fromPortable(message.error);
    call.fail(this.#options.fail({ reason: "call_failed", code: message.code, message: cause.message, cause }));
  }

  #die(message: string, cause: Error): void {
    if (this.#death !== undefined) return;
    const error = this.#options.fail({ reason: "thread_died", message, cause });
    this.#death = error;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.fail(error);
    for (const listener of this.#deathListeners) listener(error);
    this.#deathListeners.clear();
    this.#options.onDeath?.(error);
  }
}

/** Starts a thread, or takes the one that was started ahead; closing the scope asks it to end and waits until it has. */
export const make = <P extends Protocol, E>(options: ThreadOptions<P, E>): Effect.Effect<Thread<P, E>, never, Scope> =>
  Effect.acquireRelease(
    Effect.map(ThreadsAhead, (take) => new WorkerThread(options, take(options) ?? startWorker(options))),
    (thread) => thread.close,
  );
