/**
 * One short real run, watched window by window: the train pipeline in a folder of its own that is removed again, without validation,
 * checkpoints and console. It is interrupted when enough was seen.
 */
import { cpus } from "node:os";
import { Clock, Deferred, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { monotonicMillisOf } from "../src/domain/Instant.ts";
import type * as Run from "../src/engine/Run.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { temporaryFolder } from "../src/support/process/temporaryFolder.ts";
import { isEnough, isWarm } from "../src/tools/tuning/Effort.ts";
import type { ObservedRun } from "../src/tools/tuning/ObservedRun.ts";
import type { Probe } from "../src/tools/tuning/Tuning.ts";
import { type Gauges, type Learned, observedOf, Watcher } from "../src/tools/tuning/Watcher.ts";
import { train } from "./train.ts";

/**
 * Too small a step to change what the policy says. An update takes as long; but episodes stay as they are, where those of a policy that learns get
 * shorter from window to window, and a longer run would look faster.
 */
const frozen = { lr: 1e-12, lr_warmup_steps: 0, lr_decay: "constant" } as const;

/** The run file of a probe: no end, nothing but training, and nothing that changes with the length of a run. */
const probeConfig = (config: RunConfig, dir: string): RunConfig => ({
  ...config,
  run: { ...config.run, dir },
  trainer: {
    ...config.trainer,
    total_training_steps: 100_000,
    test_freq: 0,
    val_before_train: false,
    val_at_end: false,
    save_freq: 0,
    empty_stop_steps: 0,
    variance_stop_steps: 0,
    success_stop_validations: 0,
    keep_best: { ...config.trainer.keep_best, metric: "" },
  },
  pipeline: { ...config.pipeline, autotune: false },
  actor: { ...config.actor, ...frozen },
  critic: { ...config.critic, warmup_windows: 0 },
  metrics: {
    ...config.metrics,
    sinks: [],
    trace: false,
    console: "off",
    sample_ms: Math.min(config.metrics.sample_ms, 250),
  },
});

const milliseconds = ({ system, user }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** Milliseconds that the machine's cores were not idle. */
const machineTime = (): number =>
  cpus().reduce((sum, { times: { irq, nice, sys, user } }) => sum + user + nice + sys + irq, 0);

const read = (run: Run.Run) => (): Gauges => ({
  step: run.stage("step").sample(),
  replies: run.stage("generate").sample().concurrency,
  main: milliseconds(process.threadCpuUsage()),
  process: milliseconds(process.cpuUsage()),
  machine: machineTime(),
});

/** Tells a watcher everything that is told of a run, and calls `onWindow` after each window. */
const watch = (run: Run.Run, config: RunConfig, onWindow: (watcher: Watcher) => void): void => {
  const watcher = new Watcher(config.model.generator_threads, read(run));
  let begun = false;
  run.events$.subscribe((event) => {
    watcher.heard(event);
    if (event._tag !== "Admitted" || begun) return;
    begun = true;
    // The stages are there once the first group is admitted, and this is what leaves the stage of this name.
    run.stage("learn").out$.subscribe((out) => watcher.learned(out as Learned));
  });
  run.samples$.subscribe((sample) => watcher.sampled(sample));
  run.steps$.subscribe((record) => {
    watcher.recorded(record);
    onWindow(watcher);
  });
};

/** Runs until it has seen enough. */
export const probe = ({ config, length, rows }: Probe) =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* temporaryFolder("tune");
      const clock = yield* Clock.Clock;
      const began = monotonicMillisOf(clock);
      const enough = yield* Deferred.make<ObservedRun>();
      let warmUp: number | undefined;
      const onStart = (run: Run.Run): void =>
        watch(run, config, (watcher) => {
          const now = { windows: watcher.windows.length, elapsed: monotonicMillisOf(clock) - began };
          if (warmUp === undefined && isWarm(length, now)) warmUp = now.windows;
          const slots = warmUp === undefined ? undefined : rows[(now.windows - warmUp) % rows.length];
          if (slots !== undefined) Effect.runSync(run.stage("generate").setConcurrency(slots));
          if (isEnough(length, now, warmUp)) {
            Deferred.doneUnsafe(enough, Effect.succeed(observedOf(watcher, config, warmUp ?? 0)));
          }
        });
      const training = Effect.provide(
        train({ config: probeConfig(config, dir), resume: null, parts: { onStart } }),
        Stop.layerWithoutSignals,
      );
      const ended = Effect.flatMap(training, ({ reason }) =>
        Effect.fail(new BadInput({ message: `tune: a short run ended by itself (${reason ?? "complete"})` })),
      );
      return yield* Effect.raceFirst(Deferred.await(enough), ended);
    }),
  );
