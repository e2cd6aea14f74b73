/**
 * Worker threads that load their code before anyone asks for them, so that a run does not wait for it. They hold nothing, and `Thread.make` takes
 * them by name. Invariant: those that nobody takes end with the scope; one that cannot load is started again by who asks for it, and fails there.
 */
import { Worker } from "node:worker_threads";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import type { Scope } from "effect/Scope";
import { threadEnvironment } from "../../support/process/compileCache.ts";
import { shareTurns } from "./DeviceTurn.ts";
import { disableTelemetry } from "./telemetry.ts";

export interface ThreadEntry {
  /** Entry file of the thread, `.ts` or `.js`. */
  readonly url: URL;
  /** Shown in failures and in the operating system's list of threads. */
  readonly name: string;
}

/** Starts a thread that loads its code and waits for messages. */
export const startWorker = ({ name, url }: ThreadEntry): Worker => {
  shareTurns();
  disableTelemetry();
  return new Worker(url, { name, env: threadEnvironment() });
};

/** Takes the thread of an entry; undefined where none was started ahead. */
type TakeThread = (entry: ThreadEntry) => Worker | undefined;

/** The threads that were started ahead; none unless provided. */
export const ThreadsAhead = Context.Reference<TakeThread>("millrace/model/ThreadsAhead", {
  defaultValue: () => () => undefined,
});

const keyOf = ({ name, url }: ThreadEntry): string => `${name} ${url.href}`;

/** Starts the threads of these entries, for as long as the scope lives. */
export const startAhead = (entries: readonly ThreadEntry[]): Effect.Effect<TakeThread, never, Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const workers = new Map<string, Worker>();
        for (const entry of entries) {
          const worker = startWorker(entry);
          worker.once("error", () => workers.delete(keyOf(entry)));
          workers.set(keyOf(entry), worker);
        }
        return workers;
      }),
      (workers) => Effect.promise(() => Promise.all([...workers.values()].map((worker) => worker.terminate()))),
    ),
    (workers): TakeThread =>
      (entry) => {
        const worker = workers.get(keyOf(entry));
        workers.delete(keyOf(entry));
        return worker?.removeAllListeners("error");
      },
  );
