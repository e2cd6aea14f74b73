/**
 * Runs batches of requests in piscina threads, with one answer for each request. A batch whose thread hangs or dies is run again one request
 * at a time from its pure states. Invariant: only a request that hangs or kills its thread when it runs alone fails.
 *
 * The time limit is that of one step. A thread notes when it began each request of its batch, so that a long batch of quick steps, a
 * thread that is still starting and answers that are not read yet do not count as a hang.
 */
import { Effect, Fiber, Option, Schema, type Scope } from "effect";
import { Piscina } from "piscina";
import { EnvironmentError } from "../../domain/Errors.ts";
import { type Answer, type Request, stepFailure } from "../Request.ts";
import type { PresetFrame } from "../registry.ts";
import type { Batch, Setup } from "./worker.ts";

export interface ThreadsOptions {
  readonly presets: Readonly<Record<string, PresetFrame>>;
  readonly threads: number;
  /** Longest time one step may take, milliseconds. */
  readonly timeoutMs: number;
  /** Module that exports `loadRegistry` and `decodePreset`. */
  readonly registry: URL;
}

export interface Threads {
  readonly run: (batch: readonly Request[]) => Effect.Effect<readonly Answer[]>;
  /** Threads lost to hangs and crashes so far. */
  readonly lost: () => number;
}

/** The thread of a batch is lost: it exited, ran out of memory, or returned a value that cannot be cloned. */
class ThreadLost extends Schema.TaggedError<ThreadLost>()("ThreadLost", { message: Schema.String }) {}
/** A step of the batch took longer than allowed, and its thread was ended. */
class StepHung extends Schema.TaggedError<StepHung>()("StepHung", {}) {}

const messageOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : "the thread ended without a reason";

/** Milliseconds since the time origin, which all threads of the process share. */
const now = (): number => performance.timeOrigin + performance.now();

type Pool = Piscina<Batch, readonly Answer[]>;

const startPool = (setup: Setup, threads: number): Pool => {
  const pool = new Piscina<Batch, readonly Answer[]>({
    filename: new URL("./worker.ts", import.meta.url).href,
    minThreads: threads,
    maxThreads: threads,
    maxQueue: Number.POSITIVE_INFINITY,
    // Otherwise a thread stops its event loop between tasks.
    atomics: "disabled",
    recordTiming: false,
    workerData: setup,
  });
  // A thread that fails outside of any task is reported by its next task, which fails.
  pool.on("error", () => undefined);
  return pool;
};

const newClock = (): Int32Array => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Interrupting it aborts the task, which ends its thread. */
const post = (pool: Pool, batch: Batch): Effect.Effect<readonly Answer[], ThreadLost> =>
  Effect.tryPromise({
    try: (signal) => pool.run(batch, { signal }),
    catch: (cause) => new ThreadLost({ message: messageOf(cause) }),
  });

/** One attempt at a batch. */
const attempt = Effect.fnUntraced(function* (pool: Pool, requests: readonly Request[], timeoutMs: number) {
  const epoch = now();
  const clock = newClock();
  const running = yield* Effect.forkChild(post(pool, { requests, clock, epoch }), { startImmediately: true });
  for (let wait = timeoutMs; ; ) {
    const settled = yield* Effect.timeoutOption(Fiber.await(running), wait);
    if (Option.isSome(settled)) return yield* settled.value;
    const begun = Atomics.load(clock, 0);
    const spent = begun === 0 ? 0 : now() - epoch - (begun - 1);
    if (spent >= timeoutMs) {
      yield* Fiber.interrupt(running);
      return yield* new StepHung();
    }
    wait = Math.max(1, timeoutMs - spent);
  }
});

class Runner implements Threads {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  #lost = 0;

  constructor(pool: Pool, timeoutMs: number) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
  }

  readonly lost = (): number => this.#lost;

  readonly run = (requests: readonly Request[]): Effect.Effect<readonly Answer[]> => {
    const [first, ...others] = requests;
    if (first === undefined) return Effect.succeed([]);
    if (others.length === 0) return Effect.map(this.#alone(first), (answer) => [answer]);
    return Effect.catch(this.#attempt(requests), () => Effect.forEach(requests, (request) => this.#alone(request)));
  };

  /** An attempt; a failed one has cost a thread, which is counted. */
  #attempt(requests: readonly Request[]) {
    return Effect.tapError(attempt(this.#pool, requests, this.#timeoutMs), () => Effect.sync(() => this.#lost++));
  }

  #alone(request: Request): Effect.Effect<Answer> {
    return this.#attempt([request]).pipe(
      Effect.map(([answer]) => answer ?? stepFailure("step_crashed", "the thread gave no answer")),
      Effect.catchTags({
        StepHung: () => Effect.succeed(stepFailure("step_timeout", `no answer after ${this.#timeoutMs} ms`)),
        ThreadLost: ({ message }) => Effect.succeed(stepFailure("step_crashed", message)),
      }),
    );
  }
}

/** Threads of the current scope. Fails with `EnvironmentError` when they cannot load the environments. */
export const make = ({
  presets,
  registry,
  threads,
  timeoutMs,
}: ThreadsOptions): Effect.Effect<Threads, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => startPool({ registry: registry.href, presets }, threads)),
      (started) => Effect.promise(() => started.destroy()),
    );
    const loaded = Effect.forEach(
      Array.from({ length: threads }),
      () => post(pool, { requests: [], clock: newClock(), epoch: now() }),
      { concurrency: "unbounded", discard: true },
    );
    yield* Effect.mapError(
      loaded,
      ({ message }) =>
        new EnvironmentError({
          tag: Object.keys(presets).join(", "),
          message: `the environment threads do not start: ${message}`,
        }),
    );
    return new Runner(pool, timeoutMs);
  });
