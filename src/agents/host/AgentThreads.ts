/**
 * The threads in which agents run, many episodes in each. Invariants: a thread that blocks or dies costs the episodes in it, each failed with
 * that cause, and another takes its place; nothing of an agent runs on the main thread.
 */
import { Worker } from "node:worker_threads";
import { Deferred, Effect, Schedule, type Scope } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { type AgentHost, type EpisodeOrder, within } from "./AgentHost.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import type { FromRunner, RunnerSetup, ToRunner } from "./messages.ts";
import type { AgentResult } from "./outcome.ts";

export interface ThreadLimits {
  readonly threads: number;
  /** Seconds that an episode may take. */
  readonly seconds: number;
  /** Seconds of silence after which a thread counts as blocked. */
  readonly silentSeconds: number;
}

type Waiter = (ended: Effect.Effect<AgentResult, HostFailure>) => void;

/** Milliseconds that a module may take to load, Node's own start included. */
const loadMs = 60_000;

/** Milliseconds between two looks for blocked threads. */
const watchMs = 250;

/** One thread, and the episodes in it. */
class AgentThread {
  readonly waiters = new Map<number, Waiter>();
  readonly loaded = Deferred.makeUnsafe<void, BadInput>();
  readonly #worker: Worker;
  #aliveAt = performance.now();
  #isLoaded = false;
  /** The last check found it silent for too long. */
  #wasSilent = false;
  #lost: string | null = null;

  constructor(setup: RunnerSetup) {
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: setup });
    this.#worker.on("message", (message: FromRunner) => this.#receive(message, setup.path));
    this.#worker.on("error", (cause: Error) => this.#lose(`its thread ended: ${cause.message}`));
    this.#worker.on("exit", () => this.#lose("its thread ended"));
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  send(message: ToRunner): void {
    this.#worker.postMessage(message);
  }

  /** Ends the thread if it was silent for too long while it loads or has episodes. */
  checkAlive(silentMs: number): void {
    if (this.#isLoaded && this.waiters.size === 0) return;
    const longestMs = this.#isLoaded ? silentMs : Math.max(silentMs, loadMs);
    const isSilent = performance.now() - this.#aliveAt >= longestMs;
    // If the main thread was held up, signs of life wait to be read, and are read before the next check.
    const wasSilent = this.#wasSilent;
    this.#wasSilent = isSilent;
    if (!isSilent || !wasSilent) return;
    this.#lose(`its thread was blocked for ${Math.round(longestMs / 1000)} s`);
    void this.#worker.terminate();
  }

  close(): Promise<unknown> {
    this.#lost ??= "the run has ended";
    return this.#worker.terminate();
  }

  /** The thread begins to have episodes: silence counts from now on. */
  add(id: number, waiter: Waiter): void {
    if (this.#isLoaded && this.waiters.size === 0) this.#aliveAt = performance.now();
    this.waiters.set(id, waiter);
  }

  #receive(message: FromRunner, path: string): void {
    this.#aliveAt = performance.now();
    switch (message._tag) {
      case "Loaded": {
        this.#isLoaded = true;
        const { problem } = message;
        const ended =
          problem === null ? Effect.void : Effect.fail(new BadInput({ message: `agent: ${path}: ${problem}` }));
        Deferred.doneUnsafe(this.loaded, ended);
        return;
      }
      case "Alive":
        return;
      case "Finished":
        this.#end(message.id, Effect.succeed(message.result));
        return;
      case "Failed":
        this.#end(message.id, Effect.fail(hostFailure("agent_error", message.message)));
    }
  }

  #end(id: number, ended: Effect.Effect<AgentResult, HostFailure>): void {
    const waiter = this.waiters.get(id);
    this.waiters.delete(id);
    waiter?.(ended);
  }

  #lose(message: string): void {
    if (this.#lost !== null) return;
    this.#lost = message;
    Deferred.doneUnsafe(this.loaded, Effect.fail(new BadInput({ message: `agent: ${message} while it loaded` })));
    for (const id of [...this.waiters.keys()]) this.#end(id, Effect.fail(hostFailure("agent_crashed", message)));
  }
}

/** Starts the threads of an agent's module. Fails with BadInput where the module is no agent. */
export const make = Effect.fnUntraced(function* (
  setup: RunnerSetup,
  limits: ThreadLimits,
): Effect.fn.Return<AgentHost, BadInput, Scope.Scope> {
  const threads = Array.from({ length: limits.threads }, () => new AgentThread(setup));
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(threads.map((thread) => thread.close()))));
  const watch = Effect.sync(() => {
    for (const thread of threads) thread.checkAlive(limits.silentSeconds * 1_000);
  });
  yield* Effect.forkScoped(Effect.repeat(watch, Schedule.spaced(watchMs)));
  yield* Effect.forEach(threads, ({ loaded }) => Deferred.await(loaded), { discard: true });
  let nextId = 0;
  /** The thread with the fewest episodes; one that was lost is replaced first. */
  const leastBusy = (): AgentThread => {
    for (const [at, thread] of threads.entries()) if (thread.isLost) threads[at] = new AgentThread(setup);
    return threads.reduce((least, thread) => (thread.waiters.size < least.waiters.size ? thread : least));
  };
  const run = (order: EpisodeOrder): Effect.Effect<AgentResult, HostFailure> =>
    Effect.callback<AgentResult, HostFailure>((resume) => {
      const thread = leastBusy();
      const id = nextId++;
      thread.add(id, resume);
      thread.send({ _tag: "Run", id, order });
      return Effect.sync(() => {
        thread.waiters.delete(id);
        thread.send({ _tag: "Abort", id, reason: "the episode was given up" });
      });
    });
  return { isControlled: false, play: (order) => within(limits.seconds)(run(order)) };
});
