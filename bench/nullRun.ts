/**
 * A whole training run over the null model, by the engine on an exact or virtual clock, and the shape of the same run for the simulator.
 * What differs between the two is what the engine adds.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Clock, Context, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { merge } from "../src/config/Tree.ts";
import * as RunState from "../src/domain/RunState.ts";
import * as Layers from "../src/engine/Layers.ts";
import * as Training from "../src/engine/Training.ts";
import { Environments } from "../src/env/contract/Environments.ts";
import { StepPool } from "../src/env/pool/StepPool.ts";
import { noFaults } from "../src/env/pool/StepThreads.ts";
import * as Bus from "../src/flow/Bus.ts";
import * as Stage from "../src/flow/Stage.ts";
import type * as StageRegistry from "../src/flow/StageRegistry.ts";
import { Policy } from "../src/generation/Policy.ts";
import { Learner } from "../src/learner/Learner.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import { Stop } from "../src/support/process/Stop.ts";
import type { CallTime, RunShape } from "../src/tools/simulation/RunShape.ts";
import { configWith, trainingOnly } from "../test/build/config.ts";
import * as NullModel from "./nullModel.ts";

export interface NullRun {
  readonly mode: RunShape["mode"];
  readonly order: RunShape["order"];
  readonly maxStaleness: number;
  readonly groups: number;
  readonly groupSize: number;
  readonly turns: number;
  readonly windows: number;
  readonly slots: number;
  /** Milliseconds of a step, and of an update. */
  readonly step: CallTime;
  /** Milliseconds of a reply; none where it is absent. */
  readonly generate?: CallTime;
  readonly update: number;
  /** True lets the autotuner set the stages' concurrency; default false. */
  readonly autotune?: boolean;
}

const INBOX = 8;

export const configFor = (run: NullRun): RunConfig =>
  configWith(
    merge(trainingOnly, {
      trainer: { total_training_steps: run.windows, trajectory_freq: 0, validation_episodes: 0 },
      pipeline: {
        mode: run.mode,
        max_staleness: run.maxStaleness,
        window_order: run.order,
        inbox: INBOX,
        autotune: run.autotune ?? false,
        // The most that the autotuner gives the stage of steps.
        step_threads: Math.min(128, run.slots),
      },
      es_manager: {
        train: { env_groups: run.groups, group_size: run.groupSize, tags: ["Null"], n_groups: [run.groups], seed: 1 },
      },
      generation: { slots: run.slots },
    }),
  );

/** The best an engine can do: slots are held by episodes, and admission alone bounds the groups. */
export const idealShape = (run: NullRun): RunShape => ({
  mode: run.mode,
  order: run.order,
  maxStaleness: run.maxStaleness,
  groups: run.groups,
  groupSize: run.groupSize,
  windows: run.windows,
  turns: run.turns,
  rolloutConcurrency: Number.POSITIVE_INFINITY,
  episodes: run.slots,
  generateSlots: Number.POSITIVE_INFINITY,
  stepSlots: Number.POSITIVE_INFINITY,
  generate: () => 0,
  step: run.step,
  inbox: INBOX,
  update: () => run.update,
});

/** Waits as long as a call takes, which may depend on when it begins and on how many others are in service then. */
const waitOf = (time: CallTime, now: () => number): NullModel.Wait => {
  let inService = 0;
  return (group, member, turn) =>
    Effect.suspend(() => {
      inService++;
      const ms = time(group, member, turn, { at: now(), inService });
      return Effect.ensuring(
        Effect.sleep(ms),
        Effect.sync(() => {
          inService--;
        }),
      );
    });
};

/** When each window was consumed, milliseconds of the clock after the start. `beside` runs beside it, and ends it when it ends. */
export const engineRun = (
  run: NullRun,
  beside: Effect.Effect<void, never, Bus.Bus | StageRegistry.StageRegistry> = Effect.never,
): Effect.Effect<readonly number[]> =>
  Effect.scoped(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock;
      const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6;
      const config = configFor(run);
      const parent = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-bench-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true })),
      );
      const folder = yield* RunFolder.create(parent, "null", "");
      const consumedAt: number[] = [];
      let start = 0;
      const sinceStart = (): number => now() - start;
      const raw = NullModel.policy(run.generate === undefined ? () => Effect.void : waitOf(run.generate, sinceStart));
      const environments = NullModel.environments(waitOf(run.step, sinceStart));
      const step = yield* Stage.service({
        name: "step",
        concurrency: run.groups * run.groupSize * (run.maxStaleness + 1),
        run: environments.step,
      });
      const given = Context.make(Policy, raw).pipe(
        Context.add(Environments, Environments.of({ ...environments, step: step.call })),
        Context.add(StepPool, StepPool.of({ ...step, faults: () => noFaults })),
        Context.add(Learner, NullModel.learner(Effect.sleep(run.update))),
        Context.add(Stop, Stop.of({ requested: Effect.never, request: Effect.void })),
      );
      const rollout = NullModel.rollout(run.turns);
      yield* Effect.gen(function* () {
        const bus = yield* Bus.Bus;
        bus.onEvent(({ _tag }) => {
          if (_tag === "Updated") consumedAt.push(now() - start);
        });
        start = now();
        yield* Effect.raceFirst(Training.run, beside);
      }).pipe(
        Effect.provide(Layers.layer({ config, folder, state: RunState.initial, rollout })),
        Effect.provideContext(given),
      );
      return consumedAt;
    }),
  ).pipe(Effect.orDie);
