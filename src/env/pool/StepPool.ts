/**
 * The `Environments` service and the dial of the `step` stage. A request goes by its tag to a pure environment, in threads or inline, or to
 * an asynchronous one. Concurrency is the batches in flight, at most one for each thread, plus the requests that the asynchronous
 * environments allow. Threads and inline give the same answers; inline runs on the caller's thread, without a time limit and without
 * protection from a crash.
 */
import { Context, Effect, Layer } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import { clockedGauge } from "../../flow/clockedGauge.ts";
import * as Gauge from "../../flow/Gauge.ts";
import { Listeners } from "../../flow/Listeners.ts";
import type { Dial } from "../../flow/Stage.ts";
import {
  type AnyEnvironment,
  type BoundAsyncEnvironment,
  type BoundEnvironment,
  pure,
  waiting as waitingOf,
} from "../contract/BoundEnvironment.ts";
import { Environments, type StepFailure, type StepResult, type View } from "../contract/Environments.ts";
import { prepareAll } from "../contract/prepare.ts";
import { type Answer, type Request, tagOf } from "../contract/Request.ts";
import * as Waiting from "../waiting/Waiting.ts";
import { answer } from "./answer.ts";
import * as Batcher from "./Batcher.ts";
import * as StepThreads from "./StepThreads.ts";

/** What is done about steps that misbehave, where nothing else is said; pipeline.step_* has the same. */
const defaults: Pick<StepThreads.StepThreadsOptions, "spares" | "quarantine" | "giveWay"> = {
  spares: 16,
  quarantine: 2,
  giveWay: true,
};

/** The `step` stage, to be watched and tuned. */
export class StepPool extends Context.Service<
  StepPool,
  Dial & {
    /** What misbehaving environments cost. */
    readonly losses: () => StepThreads.Losses;
  }
>()("millrace/env/StepPool") {}

export interface StepPoolOptions
  extends Omit<StepThreads.StepThreadsOptions, keyof typeof defaults>,
    Partial<typeof defaults> {
  /** Batches in flight at first. */
  readonly concurrency: number;
  /** Asynchronous environments, by tags that are not among the presets. */
  readonly waiting?: ReadonlyMap<string, BoundAsyncEnvironment>;
}

/** Answers requests of pure environments. */
interface Players {
  readonly knows: (tag: string) => boolean;
  readonly call: (request: Request) => Effect.Effect<Answer>;
  readonly sample: () => Gauge.StageSample;
  readonly concurrency: () => number;
  /** Batches at once that there are threads for. */
  readonly most: number;
  readonly setConcurrency: (concurrency: number) => void;
  readonly losses: () => StepThreads.Losses;
}

const inThreads = Effect.fnUntraced(function* (options: StepPoolOptions) {
  const threads = yield* StepThreads.make({ ...defaults, ...options });
  const within = (concurrency: number): number => Math.min(options.threads, Math.max(1, Math.floor(concurrency)));
  const batcher = yield* Batcher.make({
    name: "step",
    concurrency: within(options.concurrency),
    cap: threads.batchCap,
    run: threads.run,
  });
  const players: Players = {
    ...batcher,
    knows: (tag) => Object.hasOwn(options.presets, tag),
    most: options.threads,
    setConcurrency: (next) => batcher.setConcurrency(within(next)),
    losses: threads.losses,
  };
  return players;
});

const inline = Effect.fnUntraced(function* (environments: ReadonlyMap<string, BoundEnvironment>) {
  yield* prepareAll(environments);
  const gauge = yield* clockedGauge({ name: "step", kind: "service", concurrency: 1, capacity: 0 });
  const players: Players = {
    knows: (tag) => environments.has(tag),
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
    losses: () => StepThreads.noLosses,
  };
  return players;
});

const notBound = (tag: string) => Effect.fail(new EnvironmentError({ tag, message: "no such preset" }));
const mixedUp = Effect.die("an answer of the wrong kind");

/** The services over players (null where no tag is pure) and asynchronous environments. A tag that is not bound fails the run. */
const services = Effect.fnUntraced(function* (
  players: Players | null,
  environments: ReadonlyMap<string, BoundAsyncEnvironment>,
) {
  const waiting = yield* Waiting.make(environments);
  const listeners = new Listeners<unknown>();
  const ask = (request: Request): Effect.Effect<Exclude<Answer, StepFailure>, StepFailure | EnvironmentError> => {
    const tag = tagOf(request);
    const answerer = environments.has(tag) ? waiting : players?.knows(tag) === true ? players : null;
    if (answerer === null) return notBound(tag);
    return Effect.flatMap(answerer.call(request), (answered) => {
      listeners.tell(answered);
      return answered._tag === "StepFailure" ? Effect.fail(answered) : Effect.succeed(answered);
    });
  };
  const losses = (): StepThreads.Losses => players?.losses() ?? StepThreads.noLosses;
  const pool = StepPool.of({
    name: "step",
    sample: () => [...(players === null ? [] : [players.sample()]), ...waiting.samples()].reduce(Gauge.sum),
    concurrency: () => (players?.concurrency() ?? 0) + waiting.capacity,
    most: (players?.most ?? 0) + waiting.capacity,
    setConcurrency: (next) => Effect.sync(() => players?.setConcurrency(next - waiting.capacity)),
    losses,
    metrics: () => (players === null ? new Map() : StepThreads.metricsOf(losses())),
    onOut: listeners.subscribe,
  });
  const service = Environments.of({
    reset: (reset) =>
      Effect.flatMap(
        ask({ _tag: "Reset", reset }),
        (answered): Effect.Effect<View> => (answered._tag === "View" ? Effect.succeed(answered.view) : mixedUp),
      ),
    step: (step) =>
      Effect.flatMap(
        ask({ _tag: "Step", step }),
        (answered): Effect.Effect<StepResult> =>
          answered._tag === "Stepped" ? Effect.succeed(answered.result) : mixedUp,
      ),
    release: waiting.release,
  });
  return Context.make(StepPool, pool).pipe(Context.add(Environments, service));
});

/** Pure environments in threads; without pure environments no thread is started. Fails with `EnvironmentError` when one cannot load. */
export const layerThreads = (options: StepPoolOptions): Layer.Layer<Environments | StepPool, EnvironmentError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const players = Object.keys(options.presets).length === 0 ? null : yield* inThreads(options);
      return yield* services(players, options.waiting ?? new Map());
    }),
  );

/** Pure environments on the caller's thread, prepared there. Fails with `EnvironmentError` when one cannot be. */
export const layerInline = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): Layer.Layer<Environments | StepPool, EnvironmentError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const bound = pure(environments);
      const players = bound.size === 0 ? null : yield* inline(bound);
      return yield* services(players, waitingOf(environments));
    }),
  );
