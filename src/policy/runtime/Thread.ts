/**
 * A worker thread with a typed port. Calls go in by name and come back as effects; interrupting a call cancels it in the thread;
 * events come out through one listener. The thread lives as long as its scope.
 * Invariant: when the thread dies every waiting call fails at once, and so does every later one; nothing hangs.
 */
import { Worker } from "node:worker_threads";
import { Effect, type Scope } from "effect";
import type { CallName, FromThread, Protocol, Request, Response, ToThread, Transferable } from "./ThreadProtocol.ts";

/** Why a call failed: the thread is gone, or the code inside refused this call (`code` is its own word for why). */
export type ThreadFailure =
  | { readonly reason: "thread_died"; readonly message: string }
  | { readonly reason: "call_failed"; readonly code: string; readonly message: string };

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

export interface ThreadOptions<P extends Protocol, E> {
  /** Entry file of the thread, `.ts` or `.js`. */
  readonly url: URL;
  /** Shown in failures and in the operating system's list of threads. */
  readonly name: string;
  /** The boundary's own error for a failure. */
  readonly fail: (failure: ThreadFailure) => E;
  readonly onEvent?: (event: P["events"]) => void;
  /** Told once, when the thread is gone. */
  readonly onDeath?: (error: E) => void;
}

let live = 0;
/** Threads whose scope is still open. */
export const liveThreads = (): number => live;

interface Waiting<E> {
  readonly answer: (response: unknown) => void;
  readonly fail: (error: E) => void;
}

/** How long a closing thread may take to end by itself before it is terminated. */
const CLOSE_DEADLINE = "5 seconds";

/** Starts a thread; closing the scope asks it to end and waits until it has. */
export const make = <P extends Protocol, E>(
  options: ThreadOptions<P, E>,
): Effect.Effect<Thread<P, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<number, Waiting<E>>();
    const mourners = new Set<(error: E) => void>();
    let nextId = 0;
    let dead: E | undefined;

    const worker = new Worker(options.url, { name: options.name });
    live++;

    const die = (message: string): void => {
      if (dead !== undefined) return;
      const error = options.fail({ reason: "thread_died", message });
      dead = error;
      const calls = [...waiting.values()];
      waiting.clear();
      for (const call of calls) call.fail(error);
      for (const mourn of mourners) mourn(error);
      mourners.clear();
      options.onDeath?.(error);
    };
    worker.on("error", (error) =>
      die(`${options.name} died: ${error instanceof Error ? error.message : String(error)}`),
    );
    worker.on("messageerror", (error) => die(`${options.name} sent what cannot be read: ${error.message}`));
    const gone = new Promise<void>((resolve) =>
      worker.on("exit", (code) => {
        die(`${options.name} ended (exit code ${code})`);
        resolve();
      }),
    );
    worker.on("message", (message: FromThread<P>) => {
      if (message._tag === "event") {
        options.onEvent?.(message.event);
        return;
      }
      const call = waiting.get(message.id);
      if (call === undefined) return;
      waiting.delete(message.id);
      if (message._tag === "answer") call.answer(message.response);
      else call.fail(options.fail({ reason: "call_failed", code: message.code, message: message.message }));
    });
    const post = (message: ToThread<P>, transfer: readonly Transferable[] = []): void =>
      worker.postMessage(message, transfer);

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        live--;
        if (dead === undefined) post({ _tag: "close" });
        yield* Effect.timeoutOrElse(
          Effect.promise(() => gone),
          { duration: CLOSE_DEADLINE, orElse: () => Effect.promise(() => worker.terminate()) },
        );
      }),
    );

    const call: Thread<P, E>["call"] = (name, request, transfer) =>
      Effect.callback<Response<P, typeof name>, E>((resume) => {
        if (dead !== undefined) {
          resume(Effect.fail(dead));
          return;
        }
        const id = nextId++;
        waiting.set(id, {
          answer: (response) => resume(Effect.succeed(response)),
          fail: (error) => resume(Effect.fail(error)),
        });
        post({ _tag: "call", id, name, request }, transfer);
        return Effect.sync(() => {
          if (waiting.delete(id)) post({ _tag: "cancel", id });
        });
      });

    const died = Effect.callback<never, E>((resume) => {
      if (dead !== undefined) {
        resume(Effect.fail(dead));
        return;
      }
      const mourn = (error: E): void => resume(Effect.fail(error));
      mourners.add(mourn);
      return Effect.sync(() => {
        mourners.delete(mourn);
      });
    });

    return { call, died, death: () => dead };
  });
