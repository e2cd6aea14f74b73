/**
 * A whole training run over the null model, by the engine on an exact or virtual clock, and the shape of the same run for the simulator.
 * What differs between the two is what the engine adds.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Clock, Effect, Schema } from "effect";
import { RunConfig } from "../src/config/RunConfig.ts";
import * as RunFolder from "../src/engine/RunFolder.ts";
import * as Services from "../src/engine/Services.ts";
import * as Training from "../src/engine/Training.ts";
import { Environments } from "../src/env/Environments.ts";
import { Learner } from "../src/learner/Learner.ts";
import { Policy } from "../src/policy/generation/Policy.ts";
import * as Barrier from "../src/stage/Barrier.ts";
import * as Bus from "../src/stage/Bus.ts";
import * as Stage from "../src/stage/Stage.ts";
import * as NullModel from "./nullModel.ts";
import type { RunShape } from "./simulator.ts";

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
  readonly step: (group: number, member: number, turn: number) => number;
  readonly update: number;
}

const INBOX = 8;

export const configOf = (run: NullRun): RunConfig =>
  Schema.decodeUnknownSync(RunConfig)({
    trainer: {
      total_training_steps: run.windows,
      test_freq: 0,
      val_before_train: false,
      val_at_end: false,
      save_freq: 0,
      trajectories_per_step: 0,
    },
    pipeline: {
      mode: run.mode,
      max_staleness: run.maxStaleness,
      window_order: run.order,
      inbox: INBOX,
    },
    es_manager: {
      train: { env_groups: run.groups, group_size: run.groupSize, tags: ["Null"], n_groups: [run.groups], seed: 1 },
    },
    generation: { slots: run.slots },
    metrics: { console: "off" },
  });

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

/** When each window was consumed, milliseconds of the clock after the start. */
export const engineRun = (run: NullRun): Effect.Effect<readonly number[]> =>
  Effect.scoped(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock;
      const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6;
      const config = configOf(run);
      const parent = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-bench-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true })),
      );
      const folder = yield* RunFolder.create(parent, "null", "");
      const bus = yield* Bus.make();
      const consumedAt: number[] = [];
      let start = 0;
      bus.observe(({ _tag }) => {
        if (_tag === "Updated") consumedAt.push(now() - start);
      });
      // Records wait for a reader; nobody reads these.
      yield* Effect.forkScoped(Effect.ignore(Effect.forever(bus.records)));

      const barrier = run.mode === "lockstep" ? yield* Barrier.make : null;
      const raw = NullModel.policy(() => Effect.void);
      const generate = yield* Stage.service({
        name: "generate",
        concurrency: Services.slots(config),
        run: raw.generate,
      });
      const environments = NullModel.environments((group, member, turn) => Effect.sleep(run.step(group, member, turn)));
      const step = yield* Stage.service({
        name: "step",
        concurrency: run.groups * run.groupSize * (run.maxStaleness + 1),
        run: environments.step,
      });
      const policy = Policy.of({
        ...raw,
        generate:
          barrier === null ? generate.call : (request) => Effect.andThen(barrier.arrive, generate.call(request)),
      });
      start = now();
      yield* Training.run({
        config,
        rollout: NullModel.rollout(run.turns),
        mode: NullModel.mode,
        services: {
          policy,
          environments: Environments.of({ ...environments, step: step.call }),
          dials: [generate, step],
        },
        barrier,
        folder,
        bus,
        stop: { requested: Effect.never, request: Effect.void },
        resumed: null,
      }).pipe(
        Effect.provideService(Policy, policy),
        Effect.provideService(Environments, environments),
        Effect.provideService(Learner, NullModel.learner(Effect.sleep(run.update))),
      );
      return consumedAt;
    }),
  ).pipe(Effect.orDie);
