/**
 * A training run from its first admitted group to its last checkpoint. Enters: the decoded run and its services; leaves: step records on
 * the bus, checkpoints and trajectories in the run's folder, and how it ended.
 * Invariants: the ledger balances at every step; a checkpoint is a step boundary; a stop drops only what it cannot finish, and the
 * dropped seeds are issued again by the run that resumes.
 */
import { Clock, Effect, HashMap, Result, Semaphore } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { trainedTokens } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import type { Event } from "../domain/Event.ts";
import type { Prompt } from "../domain/Group.ts";
import * as Ledger from "../domain/Ledger.ts";
import { Environments } from "../env/Environments.ts";
import { Learner } from "../learner/Learner.ts";
import { Policy } from "../policy/generation/Policy.ts";
import type { Mode, Rollout } from "../rollout/Rollout.ts";
import * as Seeds from "../rollout/seeds.ts";
import * as Admission from "../stage/Admission.ts";
import type { Barrier } from "../stage/Barrier.ts";
import type { Bus } from "../stage/Bus.ts";
import * as Gate from "../stage/Gate.ts";
import * as Pipeline from "../stage/Pipeline.ts";
import * as Sampler from "../stage/Sampler.ts";
import * as Stall from "../stage/Stall.ts";
import * as Checkpoints from "./Checkpoints.ts";
import * as Flow from "./Flow.ts";
import { appendLine, keepThrough, type RunFolder } from "./RunFolder.ts";
import { inSlots, type Services, slots } from "./Services.ts";
import * as StepRecord from "./StepRecord.ts";
import type { Stop } from "./Stop.ts";
import * as Trajectories from "./Trajectories.ts";
import * as Validation from "./Validation.ts";

export interface TrainingOptions {
  readonly config: RunConfig;
  readonly rollout: Rollout;
  readonly mode: Mode;
  /** Staged services; rollouts use nothing else. */
  readonly services: Services;
  /** Lockstep only. */
  readonly barrier: Barrier | null;
  readonly folder: RunFolder;
  readonly bus: Bus;
  readonly stop: Stop;
  /** Where a resumed run stands; null for a new one. */
  readonly resumed: Checkpoints.RunState | null;
}

export interface Ended {
  readonly step: number;
  readonly version: Version;
  readonly reason: "complete" | "interrupted" | "empty_selections";
  /** Newest checkpoint. */
  readonly checkpoint: string | null;
}

const rulesOf = (config: RunConfig): Admission.Rules => ({
  mode: config.pipeline.mode,
  groups: config.es_manager.train.env_groups,
  maxStaleness: config.pipeline.max_staleness,
  windows: config.trainer.total_training_steps,
});

const due = (frequency: number, step: number): boolean => frequency > 0 && step % frequency === 0;

export const run = Effect.fn("Training.run")(function* (options: TrainingOptions) {
  const { config, bus, folder, resumed, services } = options;
  const { trainer } = config;
  const learner = yield* Learner;
  const clock = yield* Clock.Clock;
  const firstStep = resumed?.step ?? 0;
  let version = yield* learner.version;
  const started = clock.monotonicTimeNanosUnsafe();
  const seconds = (): number => (resumed?.seconds ?? 0) + Number(clock.monotonicTimeNanosUnsafe() - started) / 1e9;

  // The books and the gate see every event first, in the fiber that emits it.
  let ledger: Ledger.Ledger = resumed === null ? Ledger.empty : { ...Ledger.empty, ...resumed.ledger };
  let reason: Ended["reason"] = "complete";
  const gate = yield* Gate.make(Admission.start(rulesOf(config), { consumed: firstStep, version }));
  bus.observe((event: Event) => {
    ledger = Ledger.observe(ledger, event);
    if (event._tag === "Updated") version = event.version;
    if (event._tag === "Stopped" && event.reason !== "deadline") reason = event.reason;
    gate.observe(event);
  });

  let seeds = resumed?.seeds ?? Seeds.initial;
  // Groups of windows not yet consumed, whatever has become of them: a window is whole again only with all of its groups.
  const outstanding = new Set<number>();
  const { env_groups, group_size } = config.es_manager.train;
  const closeBarrier = Effect.suspend(() => {
    const missing = (env_groups - (gate.state().admitted % env_groups)) % env_groups;
    return options.barrier === null ? Effect.void : options.barrier.forgo(missing * group_size);
  });
  const admit = Effect.gen(function* () {
    const { number, window } = yield* Effect.tapError(gate.admit, () => closeBarrier);
    if (options.barrier !== null && number % env_groups === 0) yield* options.barrier.expect(env_groups * group_size);
    const [prompt, rest]: readonly [Prompt, Seeds.SeedState] = Seeds.next(config.es_manager.train, seeds, version);
    seeds = rest;
    outstanding.add(prompt.group);
    yield* bus.emit({ _tag: "Admitted", group: prompt.group, window });
    return prompt;
  });

  const inFlight = () => [...HashMap.entries(ledger.inFlight)].map(([group, tokens]) => ({ group, tokens }));

  let checkpoint: string | null = null;
  let savedStep = resumed?.step ?? -1;
  let emptyInARow = resumed?.emptyInARow ?? 0;
  const save = Effect.fnUntraced(function* (step: number) {
    if (savedStep === step) return {};
    const begun = seconds();
    const books = Ledger.observe(ledger, { _tag: "Dropped", groups: inFlight(), reason: "stopped" });
    const state: Checkpoints.RunState = {
      step,
      version,
      seeds: Seeds.giveBack(seeds, [...outstanding]),
      emptyInARow,
      ledger: { groups: books.groups, tokens: books.tokens },
      seconds: seconds(),
    };
    checkpoint = yield* Checkpoints.save(folder.checkpoints, state, trainer.max_checkpoints, learner.save);
    savedStep = step;
    yield* bus.emit({ _tag: "CheckpointWritten", step, folder: checkpoint });
    return { "timing_s/save_checkpoint": seconds() - begun } satisfies StepRecord.Metrics;
  });

  let round = 0;
  const test = Effect.fnUntraced(function* (step: number) {
    const begun = seconds();
    yield* services.policy.awaitVersion(version);
    const validated = yield* Validation.play(config, options.rollout, firstStep + round, (done, of) =>
      bus.emit({ _tag: "Validating", step, done, of }),
    );
    const { groups, metrics } = validated;
    round++;
    yield* bus.emit({ _tag: "Validated", step, success: metrics["val-env/success"] ?? 0 });
    yield* appendLine(folder.validations, Validation.toJson(step, validated));
    yield* Trajectories.append(folder, { step, split: "val" }, groups, trainer.trajectories_per_step);
    return { ...metrics, "timing_s/testing": seconds() - begun };
  });
  /** Validation metrics; none once a stop is asked for. */
  const validate = (step: number) =>
    Effect.raceFirst(Effect.as(options.stop.requested, {} satisfies StepRecord.Metrics), test(step));
  const record = (step: number, metrics: StepRecord.Metrics) =>
    Effect.flatMap(Clock.currentTimeMillis, (time) => bus.record({ step, time, metrics }));

  let trained = 0;
  const moment = Effect.gen(function* () {
    const generator = yield* services.policy.gauges;
    const now: StepRecord.Moment = {
      seconds: seconds(),
      stages: dials.map((dial) => dial.sample()),
      generator,
      trainedTokens: trained,
    };
    return now;
  });

  const consuming = yield* Semaphore.make(1);
  let lastStep = firstStep;
  let saved: StepRecord.Metrics = {};
  const close = Effect.fnUntraced(function* (consumed: Flow.Consumed) {
    const step = consumed.window.index + 1;
    lastStep = step;
    const { groups, failed } = consumed.window;
    for (const { prompt } of [...groups, ...failed]) outstanding.delete(prompt.group);
    emptyInARow = consumed.emptyInARow;
    if (consumed.batch !== null) trained += trainedTokens(consumed.batch);
    const balanced = Ledger.assertBalanced(ledger);
    if (Result.isFailure(balanced)) return yield* Effect.die(balanced.failure);
    const now = yield* moment;
    const metrics = StepRecord.make(consumed, version, ledger, now, before);
    const tested =
      (due(trainer.test_freq, step) && consumed.report !== null) ||
      (trainer.val_at_end && Admission.isLast(gate.state(), step));
    const validated = tested ? yield* validate(step) : {};
    yield* record(step, { ...metrics, ...validated, ...saved });
    yield* Trajectories.append(folder, { step, split: "train" }, groups, trainer.trajectories_per_step);
    yield* Trajectories.append(folder, { step, split: "train" }, failed, trainer.trajectories_per_step);
    // A checkpoint never stands before the record of its step, so what a save took is told by the next one.
    saved = due(trainer.save_freq, step) ? yield* save(step) : {};
    // The next step's times start here: what closing this one took is no part of them.
    before = yield* moment;
  });

  const flow = yield* Flow.make({
    config,
    rollout: options.rollout,
    mode: { ...options.mode, around: options.barrier?.member ?? inSlots(slots(config)) },
    bus,
    gate,
    firstWindow: firstStep,
    emptyInARow,
    consuming,
    close,
  });
  const dials = [flow.rollout, flow.window, flow.score, flow.filter, flow.credit, flow.update, ...services.dials];
  let before: StepRecord.Moment = yield* moment;

  const line = Pipeline.from(admit)
    .to(flow.rollout)
    .to(flow.window)
    .to(flow.score)
    .to(flow.filter)
    .to(flow.credit)
    .to(flow.update).run;

  const interrupted = Effect.gen(function* () {
    yield* options.stop.requested;
    yield* bus.emit({ _tag: "Stopped", reason: "interrupted" });
    yield* Effect.sleep(config.pipeline.stop_deadline_ms);
    yield* bus.emit({ _tag: "Stopped", reason: "deadline" });
    // The cut falls on a step boundary: an update that has begun is not half forgotten.
    yield* consuming.take(1);
  });

  const program = Effect.gen(function* () {
    if (resumed !== null) yield* keepThrough(folder, firstStep);
    if (trainer.val_before_train && resumed === null) {
      const start = yield* validate(0);
      if (Object.keys(start).length > 0) yield* record(0, start);
    }
    before = yield* moment;
    yield* Effect.raceFirst(line, interrupted);
    const cut = inFlight();
    if (cut.length > 0) yield* bus.emit({ _tag: "Dropped", groups: cut, reason: "stopped" });
    yield* save(lastStep);
    const ended: Ended = { step: lastStep, version, reason, checkpoint };
    return ended;
  });

  const watching = Effect.all(
    [
      Sampler.run({
        bus,
        dials,
        totals: () => ({
          tokens: { generated: ledger.tokens.admitted, trained },
          groupsInFlight: Ledger.inFlight(ledger).groups,
        }),
        periodMs: config.metrics.sample_ms,
      }),
      Stall.watch({
        bus,
        silentMs: config.pipeline.stall_ms,
        describe: () =>
          Stall.report(
            dials.map((dial) => dial.sample()),
            Admission.decide(gate.state()),
          ),
      }),
    ],
    { concurrency: "unbounded", discard: true },
  );

  return yield* Effect.raceFirst(program, Effect.andThen(watching, Effect.never)).pipe(
    Effect.provideService(Policy, services.policy),
    Effect.provideService(Environments, services.environments),
  );
});
