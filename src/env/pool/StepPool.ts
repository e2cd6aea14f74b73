/**
 * The `Environments` service and the handle of the `step` stage. A request goes by its tag to a pure environment, in threads or inline, or to
 * an asynchronous one. Concurrency is the batches in flight, at most one for each thread, plus the requests that the asynchronous
 * environments allow. Threads and inline give the same answers; inline runs on the caller's thread, without a time limit and without
 * protection from a crash.
 */
import { Context, Effect, Layer } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import { clockedGauge } from "../../flow/clockedGauge.ts";
import * as Gauge from "../../flow/Gauge.ts";
import { Listeners } from "../../flow/Listeners.ts";
import type { StageHandle } from "../../flow/Stage.ts";
import * as AsyncRunner from "../asynchronous/AsyncRunner.ts";
import {
  type AnyEnvironment,
  asyncEnvironments,
  type BoundAsyncEnvironment,
  type BoundEnvironment,
  pureEnvironments,
} from "../contract/BoundEnvironment.ts";
import { Environments, type StepFailure, type StepResult, type View } from "../contract/Environments.ts";
import { prepareAll } from "../contract/prepare.ts";
import { type Answer, type Request, tagOf } from "../contract/Request.ts";
import { answer } from "./answer.ts";
import * as Batcher from "./Batcher.ts";
import * as StepThreads from "./StepThreads.ts";

/** The defaults for steps that misbehave; the defaults of pipeline.step_* are the same. */
const defaults: Pick<StepThreads.StepThreadsOptions, "spares" | "quarantine" | "giveWay"> = {
  spares: 24,
  quarantine: 2,
  giveWay: true,
};

/** The handle of the `step` stage. */
export class StepPool extends Context.Service<
  StepPool,
  StageHandle & {
    /** The hangs, crashes and other faults of environments so far. */
    readonly faults: () => StepThreads.StepFaults;
  }
>()("millrace/env/StepPool") {}

export interface StepPoolOptions
  extends Omit<StepThreads.StepThreadsOptions, keyof typeof defaults>,
    Partial<typeof defaults> {
  /** The number of batches in flight at the start. */
  readonly concurrency: number;
  /** The asynchronous environments, by tags that are not among the presets. */
  readonly asyncEnvironments?: ReadonlyMap<string, BoundAsyncEnvironment>;
}

/** Answers requests of pure environments. */
interface PureRunner {
  readonly has: (tag: string) => boolean;
  readonly call: (request: Request) => Effect.Effect<Answer>;
  readonly sample: () => Gauge.StageSample;
  readonly concurrency: () => number;
  /** The largest concurrency, because each batch takes a thread. */
  readonly most: number;
  readonly setConcurrency: (concurrency: number) => void;
  readonly faults: () => StepThreads.StepFaults;
}

const makeThreadRunner = Effect.fnUntraced(function* (options: StepPoolOptions) {
  const threads = yield* StepThreads.make({ ...defaults, ...options });
  const clamp = (concurrency: number): number => Math.min(options.threads, Math.max(1, Math.floor(concurrency)));
  const batcher = yield* Batcher.make({
    name: "step",
    concurrency: clamp(options.concurrency),
    cap: threads.batchCap,
    run: threads.run,
  });
  const runner: PureRunner = {
    ...batcher,
    has: (tag) => Object.hasOwn(options.presets, tag),
    most: options.threads,
    setConcurrency: (next) => batcher.setConcurrency(clamp(next)),
    faults: threads.faults,
  };
  return runner;
});

const makeInlineRunner = Effect.fnUntraced(function* (environments: ReadonlyMap<string, BoundEnvironment>) {
  yield* prepareAll(environments);
  const gauge = yield* clockedGauge({ name: "step", kind: "service", concurrency: 1, capacity: 0 });
  const runner: PureRunner = {
    has: (tag) => environments.has(tag),
    call: (request) =>
      Effect.sync(() => {
        gauge.enqueued();
        gauge.begun();
        const answered = answer(environments, request);
        gauge.finished();
        gauge.delivered();
        return answered;
      }),
    sample: () => gauge.sample(),
    concurrency: () => 1,
    most: 1,
    setConcurrency: () => undefined,
    faults: () => StepThreads.noFaults,
  };
  return runner;
});

const unknownTag = (tag: string) => Effect.fail(new EnvironmentError({ tag, message: "no such preset" }));
const wrongKind = Effect.die("an answer of the wrong kind");

/** Makes the services over a runner (null where no tag is pure) and asynchronous environments. A tag that is not bound fails the run. */
const makeServices = Effect.fnUntraced(function* (
  runner: PureRunner | null,
  environments: ReadonlyMap<string, BoundAsyncEnvironment>,
) {
  // A run of an agent alone has no environment; its stage is there, and idle.
  const pureRunner = runner === null && environments.size === 0 ? yield* makeInlineRunner(new Map()) : runner;
  const asyncRunner = yield* AsyncRunner.make(environments);
  const listeners = new Listeners<unknown>();
  const call = (request: Request): Effect.Effect<Exclude<Answer, StepFailure>, StepFailure | EnvironmentError> => {
    const tag = tagOf(request);
    const runner = environments.has(tag) ? asyncRunner : pureRunner?.has(tag) === true ? pureRunner : null;
    if (runner === null) return unknownTag(tag);
    return Effect.flatMap(runner.call(request), (answered) => {
      listeners.notify(answered);
      return answered._tag === "StepFailure" ? Effect.fail(answered) : Effect.succeed(answered);
    });
  };
  const faults = (): StepThreads.StepFaults => pureRunner?.faults() ?? StepThreads.noFaults;
  const pool = StepPool.of({
    name: "step",
    sample: () => [...(pureRunner === null ? [] : [pureRunner.sample()]), ...asyncRunner.samples()].reduce(Gauge.sum),
    concurrency: () => (pureRunner?.concurrency() ?? 0) + asyncRunner.capacity,
    most: (pureRunner?.most ?? 0) + asyncRunner.capacity,
    setConcurrency: (next) => Effect.sync(() => pureRunner?.setConcurrency(next - asyncRunner.capacity)),
    faults,
    metrics: () => (pureRunner === null ? new Map() : StepThreads.metricsOf(faults())),
    onOut: listeners.subscribe,
  });
  const service = Environments.of({
    reset: (reset) =>
      Effect.flatMap(
        call({ _tag: "Reset", reset }),
        (answered): Effect.Effect<View> => (answered._tag === "View" ? Effect.succeed(answered.view) : wrongKind),
      ),
    step: (step) =>
      Effect.flatMap(
        call({ _tag: "Step", step }),
        (answered): Effect.Effect<StepResult> =>
          answered._tag === "Stepped" ? Effect.succeed(answered.result) : wrongKind,
      ),
    release: asyncRunner.release,
  });
  return Context.make(StepPool, pool).pipe(Context.add(Environments, service));
});

/** Plays pure environments in threads; without pure environments no thread starts. It fails with `EnvironmentError` when one cannot load. */
export const layerThreads = (options: StepPoolOptions): Layer.Layer<Environments | StepPool, EnvironmentError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const runner = Object.keys(options.presets).length === 0 ? null : yield* makeThreadRunner(options);
      return yield* makeServices(runner, options.asyncEnvironments ?? new Map());
    }),
  );

/** Prepares and plays pure environments on the caller's thread. It fails with `EnvironmentError` when one cannot be prepared. */
export const layerInline = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): Layer.Layer<Environments | StepPool, EnvironmentError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const pure = pureEnvironments(environments);
      const runner = pure.size === 0 ? null : yield* makeInlineRunner(pure);
      return yield* makeServices(runner, asyncEnvironments(environments));
    }),
  );
