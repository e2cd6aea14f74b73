/**
 * The threads in which agents run, many episodes in each. Invariants: a thread that blocks or dies costs the episodes in it, each failed with
 * that cause, and another takes its place; nothing of an agent runs on the main thread.
 */
import { Worker } from "node:worker_threads";
import { Deferred, Effect, type Scope } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import type { EpisodeOrder, FromThread, HostResult, ThreadSetup, ToThread } from "./messages.ts";

/** The failure of an episode in its thread. */
export interface HostFailure {
  readonly _tag: "HostFailure";
  readonly reason: "agent_error" | "agent_timeout" | "agent_crashed";
  readonly message: string;
}

const hostFailure = (reason: HostFailure["reason"], message: string): HostFailure => ({
  _tag: "HostFailure",
  reason,
  message,
});

export interface AgentThreads {
  /** Plays an episode to the agent's end. Interruption aborts it. */
  readonly play: (order: Omit<EpisodeOrder, "id">) => Effect.Effect<HostResult, HostFailure>;
}

export interface ThreadLimits {
  readonly threads: number;
  /** Milliseconds that an episode may take. */
  readonly episodeMs: number;
  /** Milliseconds of silence after which a thread counts as blocked. */
  readonly silentMs: number;
}

type Waiter = (ended: Effect.Effect<HostResult, HostFailure>) => void;

/** Milliseconds that an agent gets to end after its signal has aborted. */
const graceMs = 1_000;

/** Milliseconds that a module may take to load, Node's own start included. */
const loadMs = 60_000;

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

  constructor(setup: ThreadSetup) {
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: setup });
    this.#worker.on("message", (message: FromThread) => this.#receive(message, setup.path));
    this.#worker.on("error", (cause: Error) => this.#lose(`its thread ended: ${cause.message}`));
    this.#worker.on("exit", () => this.#lose("its thread ended"));
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  send(message: ToThread): void {
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

  #receive(message: FromThread, path: string): void {
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

  #end(id: number, ended: Effect.Effect<HostResult, HostFailure>): void {
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
export const make = (setup: ThreadSetup, limits: ThreadLimits): Effect.Effect<AgentThreads, BadInput, Scope.Scope> =>
  Effect.gen(function* () {
    const threads = Array.from({ length: limits.threads }, () => new AgentThread(setup));
    yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(threads.map((thread) => thread.close()))));
    const watching = setInterval(() => {
      for (const thread of threads) thread.checkAlive(limits.silentMs);
    }, 250);
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(watching)));
    yield* Effect.forEach(threads, ({ loaded }) => Deferred.await(loaded), { discard: true });
    let nextId = 0;
    /** The thread with the fewest episodes; one that was lost is replaced first. */
    const leastBusy = (): AgentThread => {
      for (const [at, thread] of threads.entries()) if (thread.isLost) threads[at] = new AgentThread(setup);
      return threads.reduce((least, thread) => (thread.waiters.size < least.waiters.size ? thread : least));
    };
    const play = (order: Omit<EpisodeOrder, "id">): Effect.Effect<HostResult, HostFailure> =>
      Effect.callback<HostResult, HostFailure>((resume) => {
        const thread = leastBusy();
        const id = nextId++;
        const abort = (reason: string): void => thread.send({ _tag: "Abort", id, reason });
        const timers: NodeJS.Timeout[] = [];
        const finish: Waiter = (ended) => {
          timers.forEach(clearTimeout);
          resume(ended);
        };
        thread.add(id, finish);
        thread.send({ _tag: "Run", order: { ...order, id } });
        const late = `it has not ended after ${limits.episodeMs / 1000} s`;
        timers.push(setTimeout(() => abort(late), limits.episodeMs));
        timers.push(
          setTimeout(() => {
            thread.waiters.delete(id);
            finish(Effect.fail(hostFailure("agent_timeout", late)));
          }, limits.episodeMs + graceMs),
        );
        return Effect.sync(() => {
          timers.forEach(clearTimeout);
          thread.waiters.delete(id);
          abort("the episode was given up");
        });
      });
    return { play };
  });
