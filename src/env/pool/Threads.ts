/**
 * Batches run in piscina threads. Enters: a batch of requests; leaves: one answer each, always. A batch whose thread hangs or dies is run
 * again one request at a time from its pure states. Invariant: only the request that hangs or kills its thread alone fails.
 *
 * The time limit is one step's: a thread writes down when it began each request of its batch, so a long batch of quick steps, a
 * thread that is still starting, and answers not read yet are no hang.
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

/** The thread of a batch is gone: it exited, ran out of memory, or gave back what cannot be cloned. */
class ThreadLost extends Schema.TaggedError<ThreadLost>()("ThreadLost", { message: Schema.String }) {}
/** A step of the batch took longer than allowed, and its thread was ended. */
class StepHung extends Schema.TaggedError<StepHung>()("StepHung", {}) {}

const messageOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : "the thread ended without a reason";

/** Milliseconds since the time origin, which all threads of the process share. */
const now = (): number => performance.timeOrigin + performance.now();

/** Threads of the current scope. Fails with `EnvironmentError` when they cannot load the environments. */
export const make = ({
  presets,
  registry,
  threads,
  timeoutMs,
}: ThreadsOptions): Effect.Effect<Threads, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    const setup: Setup = { registry: registry.href, presets };
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const created = new Piscina<Batch, readonly Answer[]>({
          filename: new URL("./worker.ts", import.meta.url).href,
          minThreads: threads,
          maxThreads: threads,
          maxQueue: Number.POSITIVE_INFINITY,
          // Otherwise a thread stops its event loop between tasks.
          atomics: "disabled",
          recordTiming: false,
          workerData: setup,
        });
        // A thread that fails outside of any task has no one to tell; its next task fails and says so.
        created.on("error", () => undefined);
        return created;
      }),
      (created) => Effect.promise(() => created.destroy()),
    );
    let lost = 0;

    const post = (requests: readonly Request[], clock: Int32Array, epoch: number) =>
      Effect.tryPromise({
        try: (signal) => pool.run({ requests, clock, epoch }, { signal }),
        catch: (cause) => new ThreadLost({ message: messageOf(cause) }),
      });

    /** One attempt at a batch. Interrupting `post` aborts the task, which ends its thread. */
    const attempt = Effect.fnUntraced(function* (requests: readonly Request[]) {
      const epoch = now();
      const clock = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const running = yield* Effect.forkChild(post(requests, clock, epoch), { startImmediately: true });
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

    /** An attempt whose failure has cost a thread. */
    const counted = (requests: readonly Request[]) =>
      Effect.tapError(attempt(requests), () =>
        Effect.sync(() => {
          lost++;
        }),
      );

    const alone = (request: Request): Effect.Effect<Answer> =>
      counted([request]).pipe(
        Effect.map((answers) => answers[0]!),
        Effect.catchTags({
          StepHung: () => Effect.succeed(stepFailure("step_timeout", `no answer after ${timeoutMs} ms`)),
          ThreadLost: ({ message }) => Effect.succeed(stepFailure("step_crashed", message)),
        }),
      );

    const run = (requests: readonly Request[]): Effect.Effect<readonly Answer[]> =>
      requests.length === 1
        ? Effect.map(alone(requests[0]!), (answer) => [answer])
        : Effect.catch(counted(requests), () => Effect.forEach(requests, alone));

    const loaded = Effect.all(
      Array.from({ length: threads }, () => post([], new Int32Array(new SharedArrayBuffer(4)), now())),
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
    return { run, lost: () => lost };
  });
