/**
 * Runs batches of requests in threads, with one reply for each request. A request that takes much longer than usual, or ends its thread, is
 * a suspect. It is tried alone in a spare thread, with the whole time limit, while the rest of its batch runs again elsewhere. Because
 * environments are pure, a second run gives the same answer. Invariant: a request fails only by what it does when it runs alone.
 */
import { Effect, Fiber, FiberSet, Latch, Pool, type Scope } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { stepping } from "../../domain/metrics/run.ts";
import * as Permits from "../../flow/admission/Permits.ts";
import type { EnvironmentSpec } from "../contract/Preset.ts";
import { type Answer, type Request, stepFailure } from "../contract/Request.ts";
import * as Batcher from "./Batcher.ts";
import { FaultCounts } from "./FaultCounts.ts";
import { StepTimes } from "./StepTimes.ts";
import { type BatchLimits, type BatchResult, Thread, type ThreadLost } from "./Thread.ts";

export interface StepThreadsOptions {
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
  readonly threads: number;
  /** The longest time one step may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The number of further threads, in which suspects are tried. */
  readonly spares: number;
  /** The time-outs and crashes after which the steps of an instance fail at once; 0 means never. */
  readonly quarantine: number;
  /** Once a step has hung, the threads of suspects have the lowest priority. */
  readonly giveWay: boolean;
  /** The URL of a `RegistryModule`. */
  readonly registry: URL;
}

/** The faults of environments so far, and those under way. */
export interface StepFaults {
  /** The number of threads lost to hangs and crashes. */
  readonly lostThreads: number;
  /** The seconds that threads spent in steps that hung. */
  readonly hungSeconds: number;
  /** The number of steps on trial, or waiting for one. */
  readonly suspects: number;
  /** The number of instances whose steps fail at once. */
  readonly quarantined: number;
  /** The number of errors outside of any step. */
  readonly strayErrors: number;
}

export const noFaults: StepFaults = { lostThreads: 0, hungSeconds: 0, suspects: 0, quarantined: 0, strayErrors: 0 };

export const metricsOf = ({ hungSeconds, quarantined, lostThreads, strayErrors, suspects }: StepFaults): Metrics =>
  metricsFrom(
    [stepping.lostThreads, lostThreads],
    [stepping.hungSeconds, hungSeconds],
    [stepping.suspects, suspects],
    [stepping.quarantined, quarantined],
    [stepping.strays, strayErrors],
  );

type ThreadPool = Pool.Pool<Thread, ThreadLost>;
type Reply = Batcher.Reply<Answer>;

/** The most attempts at starting a thread, or at a trial whose thread is lost before the request begins. */
const attempts = 3;

const quarantinedAnswer = (faults: number): Answer =>
  stepFailure(
    "step_quarantined",
    `its instance hung or ended its thread ${faults} times before; such an instance is not stepped any more (pipeline.step_quarantine)`,
  );

export class StepThreads {
  readonly #options: StepThreadsOptions;
  readonly #threads: ThreadPool;
  readonly #spares: ThreadPool;
  readonly #strayErrors: Int32Array;
  /** Starts a fiber that outlives its caller. */
  readonly #fork: (trial: Effect.Effect<Answer>) => Fiber.Fiber<Answer>;
  readonly #times = new StepTimes();
  readonly #faults: FaultCounts;
  readonly #trialSlots: Permits.Permits;
  #suspects = 0;
  #hadSuspect = false;
  #hangs = 0;
  #lost = 0;

  constructor(
    options: StepThreadsOptions,
    pools: { readonly threads: ThreadPool; readonly spares: ThreadPool },
    strayErrors: Int32Array,
    fork: (trial: Effect.Effect<Answer>) => Fiber.Fiber<Answer>,
  ) {
    this.#options = options;
    this.#threads = pools.threads;
    this.#spares = pools.spares;
    this.#strayErrors = strayErrors;
    this.#fork = fork;
    this.#faults = new FaultCounts(options.quarantine);
    // Until a step has hung, suspects keep their priority, and no more of them run than there are threads.
    this.#trialSlots = Permits.makeUnsafe(Math.min(options.threads, options.spares));
  }

  /** The most requests of one batch. */
  readonly batchCap = (): number => this.#times.batchCap();

  readonly faults = (): StepFaults => ({
    lostThreads: this.#lost,
    hungSeconds: (this.#hangs * this.#options.timeoutMs) / 1000,
    suspects: this.#suspects,
    quarantined: this.#faults.quarantined(),
    strayErrors: Atomics.load(this.#strayErrors, 0),
  });

  /** The replies to a batch. A request whose instance bars it gets its reply here; a thread answers the others. */
  readonly run = (requests: readonly Request[]): Effect.Effect<readonly Reply[]> =>
    Effect.suspend(() => {
      const barred = requests.map((request) => this.#barredReply(request));
      const free = requests.filter((_, at) => barred[at] === undefined);
      if (free.length === 0) return Effect.succeed(barred.map((reply) => reply ?? new Batcher.Requeue()));
      return Effect.map(this.#runBatch(free), (replies) => {
        const rest = replies.values();
        return barred.map((reply) => reply ?? rest.next().value ?? new Batcher.Requeue());
      });
    });

  /** The reply to a request whose instance is quarantined or has suspects on trial; undefined where it may run. */
  #barredReply(request: Request): Reply | undefined {
    const status = this.#faults.statusOf(request);
    if (status._tag === "Quarantined") return Effect.succeed(quarantinedAnswer(status.faults));
    return status._tag === "Blocked" ? new Batcher.Requeue(status.trialEnded.await) : undefined;
  }

  #runBatch(requests: readonly Request[]): Effect.Effect<readonly Reply[]> {
    const suspectAfterMs = this.#times.suspectAfterMs(requests, this.#hangs > 0);
    const limits = {
      requestMs: Math.min(this.#options.timeoutMs, suspectAfterMs),
      // An interruption needs a timer for each batch, which only runs with suspects pay for.
      interrupt: this.#hadSuspect,
      giveWay: false,
    };
    return Effect.map(this.#inThread(this.#threads, requests, limits), ({ answers, stop, times }) => {
      this.#times.observe(requests, times);
      return requests.map((request, at): Reply => {
        const answer = answers[at];
        if (answer !== undefined) return Effect.succeed(answer);
        const isSuspect = stop?.at === at || stop?.at === null;
        return isSuspect ? this.#trySuspect(request) : new Batcher.Requeue();
      });
    });
  }

  #inThread(pool: ThreadPool, requests: readonly Request[], limits: BatchLimits): Effect.Effect<BatchResult> {
    const ran = Pool.use(pool, (thread) =>
      Effect.tap(thread.run(requests, limits), () => {
        if (!thread.isLost()) return Effect.void;
        this.#lost++;
        return Pool.invalidate(pool, thread);
      }),
    );
    return Effect.orDie(ran);
  }

  /** The answer to a suspect. Its trial goes on after its caller gives up, because other requests of its instance may wait for the result. */
  #trySuspect(request: Request): Effect.Effect<Answer> {
    this.#hadSuspect = true;
    const status = this.#faults.statusOf(request);
    if (status._tag === "Quarantined") return Effect.succeed(quarantinedAnswer(status.faults));
    if (status._tag === "Blocked")
      return Effect.andThen(
        status.trialEnded.await,
        Effect.suspend(() => this.#trySuspect(request)),
      );
    this.#suspects++;
    this.#faults.beginTrial(request);
    const trial = Effect.acquireUseRelease(
      this.#trialSlots.acquire,
      () => this.#trial(request, attempts),
      () => Effect.sync(this.#trialSlots.release),
    );
    return Fiber.join(
      this.#fork(
        Effect.ensuring(
          trial,
          Effect.sync(() => this.#suspects--),
        ),
      ),
    );
  }

  #trial(request: Request, attemptsLeft: number): Effect.Effect<Answer> {
    const { giveWay, timeoutMs } = this.#options;
    const givesWay = giveWay && this.#hangs > 0;
    const limits = { requestMs: timeoutMs, interrupt: true, giveWay: givesWay };
    return Effect.flatMap(this.#inThread(this.#spares, [request], limits), ({ answers: [answer], stop, times }) => {
      if (answer !== undefined) {
        if (!givesWay) this.#times.observe([request], times);
        this.#faults.endTrial(request, "innocent");
        return Effect.succeed(answer);
      }
      // A timer or promise of an earlier step may have ended the thread.
      if (stop?.at === null && attemptsLeft > 1) return this.#trial(request, attemptsLeft - 1);
      this.#faults.endTrial(request, "guilty");
      if (stop?.cause !== "hang") return Effect.succeed(stepFailure("step_crashed", stop?.message ?? "no answer"));
      this.#hangs++;
      this.#trialSlots.resize(this.#options.spares);
      return Effect.succeed(stepFailure("step_timeout", `no answer after ${timeoutMs} ms`));
    });
  }
}

/** Makes threads that live in the current scope. It fails with `EnvironmentError` when they cannot load the environments. */
export const make = (options: StepThreadsOptions): Effect.Effect<StepThreads, EnvironmentError, Scope.Scope> =>
  Effect.gen(function* () {
    const { presets, registry, spares, threads } = options;
    const strayErrors = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    let started = false;
    const isFirstLoaded = Latch.makeUnsafe(false);
    let isFirst = true;
    // The first thread loads alone: a run begins with it, and the others would only slow it.
    const turn = Effect.suspend(() => {
      if (!isFirst) return isFirstLoaded.await;
      isFirst = false;
      return Effect.void;
    });
    const thread = Effect.acquireRelease(
      Effect.sync(() => new Thread({ registry: registry.href, presets, strayErrors })),
      ({ end }) => end,
    ).pipe(
      Effect.tap(({ loaded }) => loaded),
      // The first threads fail at once, because an environment that does not load will not load again.
      Effect.retry({ times: attempts - 1, while: () => started }),
    );
    const acquire = Effect.andThen(turn, thread);
    const pools = {
      threads: yield* Pool.make({ acquire, size: threads }),
      spares: yield* Pool.makeWithTTL({ acquire, min: 0, max: spares, timeToLive: "1 minute" }),
    };
    const start = Effect.scoped(Pool.get(pools.threads));
    yield* Effect.mapError(
      start,
      ({ message }) =>
        new EnvironmentError({
          tag: Object.keys(presets).join(", "),
          message: `the environment threads do not start: ${message}`,
        }),
    );
    started = true;
    isFirstLoaded.openUnsafe();
    const fork = yield* FiberSet.makeRuntime<never, Answer, never>();
    return new StepThreads(options, pools, strayErrors, fork);
  });
