/**
 * A whole run over fakes: a policy and environments that act by a fate per episode, and a learner that counts versions. All time is the
 * test clock's, so that latencies are exact and a run that waits for nothing is found.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Context, Effect, Fiber, Latch, Result, type Scope, Semaphore } from "effect";
import { TestClock } from "effect/testing";
import { idleGenerator } from "../../bench/nullModel.ts";
import { allPlayedTags } from "../../src/config/levels.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import type { Tree } from "../../src/config/Tree.ts";
import type { TokenBatch } from "../../src/domain/Batch.ts";
import type { Control } from "../../src/domain/Control.ts";
import type { CrossRequest, CrossScores } from "../../src/domain/CrossScores.ts";
import type { Version } from "../../src/domain/Episode.ts";
import type { LearnerError, PolicyError } from "../../src/domain/Errors.ts";
import type { Event, StepRecord } from "../../src/domain/Event.ts";
import * as Ledger from "../../src/domain/Ledger.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as Layers from "../../src/engine/Layers.ts";
import * as Training from "../../src/engine/Training.ts";
import { Environments, type View } from "../../src/env/contract/Environments.ts";
import { StepPool } from "../../src/env/pool/StepPool.ts";
import { noFaults } from "../../src/env/pool/StepThreads.ts";
import * as Bus from "../../src/flow/Bus.ts";
import * as Stage from "../../src/flow/Stage.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";
import { type AnalysedTokens, type Credit, Learner, type LearnerLanes } from "../../src/learner/Learner.ts";
import * as Controls from "../../src/observe/control/Controls.ts";
import * as Checkpoints from "../../src/observe/record/Checkpoints.ts";
import * as RunFolder from "../../src/observe/record/RunFolder.ts";
import { Stop } from "../../src/support/process/Stop.ts";
import { rollout, sampled } from "../rollout/fakes.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const noCredit = ({ ids }: TokenBatch): Credit => {
  const zeros = new Float32Array(ids.length);
  return { advantages: zeros, returns: zeros, values: zeros };
};

/** The course of an episode: its number of turns and its end. A crash is the environment's. */
export interface Fate {
  readonly turns: number;
  readonly end: "success" | "miss" | "crash";
  /** Milliseconds of each reply and of each step. */
  readonly replyMs?: number;
  readonly stepMs?: number;
}

export type Fates = (group: number, member: number) => Fate;

/** Every group has one success and one miss, so that the filter keeps it. */
export const mixed: Fates = (_, member) => ({ turns: 1, end: member === 0 ? "success" : "miss", replyMs: 1 });
/** No group has a variance: under `include_zero: false` the filter keeps none. */
export const alike: Fates = () => ({ turns: 1, end: "miss", replyMs: 1 });
export const dropAlike: Tree = { include_zero: false };

export interface Reply {
  readonly group: number;
  readonly member: number;
  readonly turn: number;
  readonly validation: boolean;
  readonly requestedAt: number;
  readonly servedAt: number;
  readonly version: Version;
}

const unscored = (version: Version): CrossScores => ({ rows: 0, sums: new Float64Array(0), version, seconds: 0 });

const validationHalf = 2 ** 31;
export interface Options {
  readonly config: RunConfig;
  readonly fates?: Fates;
  /** Returns the end of the episodes of a validation, counted from 0. Default success. */
  readonly validates?: (validation: number) => Fate["end"];
  /** Milliseconds of each reply of a validation; 1 by default. */
  readonly validationMs?: number;
  /** Milliseconds of an update, and from its end to the generators' adoption. */
  readonly updateMs?: number;
  readonly adoptMs?: number;
  /** Generates instead of the fake policy; `publish` is called with each new version. */
  readonly generator?: { readonly policy: typeof Policy.Service; readonly publish: (version: Version) => void };
  /** Updates, counted from 1 in this start of the run, of which no gradient is finite. */
  readonly notFinite?: (update: number) => boolean;
  /** Fails the update of this number (from 1) of this start of the run. */
  readonly failUpdate?: { readonly at: number; readonly error: LearnerError };
  /** Why the reply to a request fails; null where it does not. */
  readonly failReply?: (of: { readonly group: number }) => PolicyError | null;
  /** Why the save of this number (from 1) fails; null where it does not. */
  readonly failSave?: (save: number) => LearnerError | null;
  /** Thought of every reply; by default replies have none. */
  readonly thought?: string;
  /** Scores for the learner; by default no row is finished. */
  readonly score?: (request: CrossRequest) => Effect.Effect<CrossScores, LearnerError>;
  /** Lanes of the learner; by default it has one. */
  readonly lanes?: LearnerLanes;
  readonly folder: typeof RunFolder.RunFolder.Service;
  readonly resumed?: RunState.RunState | null;
  /** Told every event, with what the run may do in answer. */
  readonly onEvent?: (event: Event, stop: () => void, apply: (control: Control) => void) => void;
  readonly onRecord?: (record: StepRecord) => void;
}

export interface Observed {
  readonly ended: Training.TrainingResult;
  readonly events: readonly Event[];
  readonly records: readonly StepRecord[];
  readonly replies: readonly Reply[];
  readonly batches: readonly TokenBatch[];
  /** Tokens that were analysed without being trained on. */
  readonly analysed: readonly AnalysedTokens[];
  readonly released: readonly number[];
  /** The books of this start of the run. */
  readonly ledger: Ledger.Ledger;
}

const viewOf = (seed: number, turn: number): View => ({
  state: { seed, turn },
  observation: `turn ${turn}`,
  compact: `${turn}`,
  actions: ["Right"],
  contentKey: `${seed}`,
});

/** Runs training over fakes to its end. */
export const train = (options: Options) =>
  Effect.gen(function* () {
    const { config, folder, resumed = null, fates = mixed, thought } = options;
    const { updateMs = 0, adoptMs = 0, validationMs = 1 } = options;
    const scope = yield* Effect.scope;
    const now = yield* Effect.clockWith((clock) => Effect.succeed(() => clock.currentTimeMillisUnsafe()));
    let validations = resumed?.validations ?? 0;
    const validated = (): Fate["end"] => options.validates?.(validations) ?? "success";
    const fateOf = (family: number, member: number): Fate =>
      family < validationHalf ? fates(family, member) : { turns: 1, end: validated(), replyMs: validationMs };

    let newestVersion: Version = resumed?.position.version ?? 0;
    let adopted = newestVersion;
    const news = Latch.makeUnsafe(false);
    const awaitVersion = (version: Version): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (adopted >= version) return Effect.void;
        news.closeUnsafe();
        return Effect.andThen(news.await, awaitVersion(version));
      });

    const replies: Reply[] = [];
    const released: number[] = [];
    const generate = Effect.fnUntraced(function* ({ key, pin }: GenerateRequest) {
      const [family, member, turn] = [key.counters[0]!, key.counters[1]!, key.counters[2]!];
      const requestedAt = now();
      const version = pin ?? adopted;
      yield* Effect.sleep(fateOf(family, member).replyMs ?? 0);
      const failed = options.failReply?.({ group: family }) ?? null;
      if (failed !== null) return yield* failed;
      const validation = family >= validationHalf;
      replies.push({ group: family, member, turn, validation, requestedAt, servedAt: now(), version });
      const reply = sampled(`${thought === undefined ? "" : `${thought}</think>`}<answer>Right</answer>`);
      return { ...reply, versions: reply.versions.fill(version) };
    });
    const policy =
      options.generator?.policy ??
      Policy.of({
        generate,
        release: (sequence) => Effect.sync(() => void released.push(sequence)),
        version: Effect.sync(() => adopted),
        awaitVersion,
        hold: Effect.sync(() => adopted),
        gauges: Effect.sync(() => ({ ...idleGenerator, version: adopted, slots: 8 })),
      });

    const environments = Environments.of({
      reset: ({ instance }) => Effect.succeed(viewOf(instance.seed, 0)),
      release: () => Effect.void,
      step: Effect.fnUntraced(function* ({ state, noise }) {
        const { seed, turn } = state as { readonly seed: number; readonly turn: number };
        const { turns, end, stepMs = 0 } = fateOf(noise.counters[0]!, noise.counters[1]!);
        yield* Effect.sleep(stepMs);
        const terminated = turn + 1 >= turns;
        if (terminated && end === "crash") {
          return yield* Effect.fail({ _tag: "StepFailure", reason: "step_error", message: "crash" } as const);
        }
        const success = terminated && end === "success";
        const result = { executed: 1, reward: success ? 1 : 0, terminated, truncated: false, success, info: {} };
        return { ...result, view: viewOf(seed, turn + 1) };
      }),
    });
    const step = yield* Stage.service({ name: "step", concurrency: 8, run: () => Effect.void });

    let saves = 0;
    const batches: TokenBatch[] = [];
    const analysed: AnalysedTokens[] = [];
    // Commands run to their end one after the other, also when nobody waits for them any more.
    const commands = yield* Semaphore.make(1);
    const command = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.flatMap(Effect.forkIn(commands.withPermit(work), scope), Fiber.join);
    const learner = Learner.of({
      update: ({ kept }) =>
        command(
          Effect.gen(function* () {
            batches.push(kept);
            const rest = { metrics: new Map(), seconds: new Map(), credit: noCredit(kept) };
            yield* Effect.sleep(updateMs);
            if (options.failUpdate?.at === batches.length) return yield* options.failUpdate.error;
            if (options.notFinite?.(batches.length) === true) {
              const untrained = { network: "policy", notFinite: "gradient" } as const;
              return { version: newestVersion, applied: false, untrained, ...rest };
            }
            const version = ++newestVersion;
            options.generator?.publish(version);
            const adopt = Effect.sync(() => {
              // Adoptions at one moment come in any order, and a generator goes back to no older version.
              adopted = Math.max(adopted, version);
              news.openUnsafe();
            });
            if (adoptMs === 0) yield* adopt;
            else yield* Effect.forkIn(Effect.delay(adopt, adoptMs), scope);
            return { version, applied: true, untrained: null, ...rest };
          }),
        ),
      analyse: (batches) =>
        Effect.sync(() => {
          analysed.push(batches);
          return new Map();
        }),
      score: (request) => options.score?.(request) ?? Effect.sync(() => unscored(newestVersion)),
      save: (into) =>
        command(
          Effect.suspend(() => {
            const failed = options.failSave?.(++saves) ?? null;
            if (failed !== null) return Effect.fail(failed);
            return Effect.promise(() => writeFile(join(into, "learner.json"), `${newestVersion}`));
          }),
        ),
      version: Effect.sync(() => newestVersion),
      lanes: options.lanes ?? null,
    });

    const events: Event[] = [];
    const records: StepRecord[] = [];
    let isStopRequested = false;
    const requested = Latch.makeUnsafe(false);
    const stop = Stop.of({ requested: requested.await, request: Effect.sync(() => void requested.openUnsafe()) });
    let ledger = Ledger.empty;
    const watch = (event: Event, apply: (control: Control) => void): void => {
      events.push(event);
      if (event._tag === "Validated") validations++;
      ledger = Ledger.observe(ledger, event);
      Result.getOrThrow(Ledger.checkBalance(ledger));
      options.onEvent?.(
        event,
        () => {
          if (!isStopRequested) requested.openUnsafe();
          isStopRequested = true;
        },
        apply,
      );
    };
    const state = resumed ?? RunState.initial;
    const reached = rollout({ ...config.rollout, enable_think: thought !== undefined });
    // Every level is the same task here; fates tell them apart.
    const task = [...reached.tasks.values()][0]!;
    const rolloutSetup = { ...reached, tasks: new Map(allPlayedTags(config).map((tag) => [tag, { ...task, tag }])) };
    const given = Context.make(Policy, policy).pipe(
      Context.add(Environments, environments),
      Context.add(StepPool, StepPool.of({ ...step, faults: () => noFaults })),
      Context.add(Learner, learner),
      Context.add(Stop, stop),
    );
    const services = Layers.layer({ config, folder, state, rollout: rolloutSetup });
    const ended = yield* Effect.gen(function* () {
      const bus = yield* Bus.Bus;
      const controls = yield* Controls.Controls;
      const runFork = Effect.runForkWith(yield* Effect.context());
      const apply = (control: Control): void => void runFork(controls.apply(control, "code"));
      bus.onEvent((event) => watch(event, apply));
      bus.onStep((record) => {
        records.push(record);
        options.onRecord?.(record);
      });
      return yield* Training.run;
    }).pipe(Effect.provide(services), Effect.provideContext(given));
    const observed: Observed = { ended, events, records, replies, batches, analysed, released, ledger };
    return observed;
  });

export const runFolder = Effect.flatMap(temporaryFolder, (dir) => RunFolder.create(dir, "test", "{}\n"));

/** The newest checkpoint's run state, and the version of the learner it was saved with. */
export const newest = Effect.fnUntraced(function* (folder: typeof RunFolder.RunFolder.Service) {
  const { path, state } = yield* Checkpoints.latest(folder.checkpoints);
  const learner = Number(yield* Effect.promise(() => readFile(join(path, "learner.json"), "utf8")));
  return { state, learner };
});

/** Goes on from the newest checkpoint of the folder. */
export const resume = Effect.fnUntraced(function* (options: Options) {
  const { state, learner } = yield* newest(options.folder);
  if (state.position.version !== learner) {
    return yield* Effect.die(
      new Error(`the checkpoint is of version ${state.position.version}, its learner of ${learner}`),
    );
  }
  return yield* train({ ...options, resumed: state });
});

const turnOfTheLoop = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)));

/** Files are real: virtual time stands still while one is being read or written. */
const diskIsIdle = Effect.gen(function* () {
  yield* turnOfTheLoop;
  while (process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name))) yield* turnOfTheLoop;
});

/** Longest run, in virtual milliseconds; one that takes longer waits for nothing. */
const deadlocked = 20_000;
/** Milliseconds at a time; what sleeps between wakes in its order. */
const stride = 10;

/** Runs a program on a test clock that is advanced until it ends; one that never ends is a defect. */
const virtually = <A, E>(program: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(program, { startImmediately: true });
    for (let ms = 0; fiber.pollUnsafe() === undefined; ms += stride) {
      if (ms > deadlocked) return yield* Effect.die(new Error(`nothing ends this run (${deadlocked} ms)`));
      yield* diskIsIdle;
      yield* TestClock.adjust(stride);
    }
    return yield* Fiber.join(fiber);
  }).pipe(Effect.provide(TestClock.layer()));

export const eventsOf = <Tag extends Event["_tag"]>(events: readonly Event[], tag: Tag) =>
  events.filter((event): event is Extract<Event, { readonly _tag: Tag }> => event._tag === tag);

/** Returns, for each event, the number of windows consumed before it. */
export const consumedAt = (events: readonly Event[]): readonly number[] => {
  let consumed = 0;
  return events.map(({ _tag }) =>
    _tag === "Updated" || _tag === "EmptySelection" || _tag === "UpdateSkipped" ? consumed++ : consumed,
  );
};

/** Runs an effect over a new run folder, in virtual time. */
export const inFolder = <A, E>(
  program: (folder: typeof RunFolder.RunFolder.Service) => Effect.Effect<A, E, Scope.Scope>,
) => virtually(Effect.scoped(Effect.flatMap(runFolder, program)));

/** A run of its own folder, from its first step to its end. */
export const observed = (options: Omit<Options, "folder">) => inFolder((folder) => train({ ...options, folder }));

/** Stops a run at the first event of a kind that `at` picks. */
export const stopOn =
  <Tag extends Event["_tag"]>(
    tag: Tag,
    at: (event: Extract<Event, { readonly _tag: Tag }>) => boolean = () => true,
  ): NonNullable<Options["onEvent"]> =>
  (event, stop) => {
    if (eventsOf([event], tag).some(at)) stop();
  };
