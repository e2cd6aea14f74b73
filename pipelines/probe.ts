/**
 * One short real run, watched window by window: the train pipeline in a folder of its own that is removed again, without validation,
 * checkpoints and console. It is interrupted when enough was seen.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Clock, Deferred, Effect, type Scope } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { turnsOf } from "../src/domain/Episode.ts";
import { BadInput } from "../src/domain/Errors.ts";
import type { Event, StepRecord } from "../src/domain/Event.ts";
import { idsOf } from "../src/domain/Group.ts";
import { type Metrics, valueIn } from "../src/domain/metrics/Metrics.ts";
import { generation, timing, tokens } from "../src/domain/metrics/run.ts";
import type * as Run from "../src/engine/Run.ts";
import type { Learned } from "../src/engine/stages/learn.ts";
import * as Stop from "../src/process/Stop.ts";
import { type PlayedGroup, sampledOf, tokensOf } from "../src/simulation/replay/Played.ts";
import type { Sample } from "../src/stage/Bus.ts";
import type { StageSample } from "../src/stage/Gauge.ts";
import type { Meanwhile, Observed, ObservedWindow } from "../src/tuning/Observed.ts";
import { settingsOf } from "../src/tuning/Space.ts";
import { train } from "./train.ts";

export interface ProbeOptions {
  readonly config: RunConfig;
  /** Windows that are left out: threads start, and the first of each shape is slow. */
  readonly warmUp: number;
  readonly windows: number;
  /** After so many milliseconds it ends with what it has seen, one window at least. */
  readonly most: number;
  /** Told of each window, those of the warm-up too. */
  readonly onWindow?: (count: number, run: Run.Run) => void;
}

const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-tune-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true })),
);

/** The run file of a probe: no end, nothing but training, and nothing that changes with the length of a run. */
const probing = (config: RunConfig, dir: string): RunConfig => ({
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
  },
  pipeline: { ...config.pipeline, autotune: false },
  critic: { ...config.critic, warmup_windows: 0 },
  metrics: {
    ...config.metrics,
    sinks: [],
    trace: false,
    console: "off",
    sample_ms: Math.min(config.metrics.sample_ms, 250),
  },
});

/** The groups of a window by their lengths. */
const playedOf = ({ filtered, window }: Learned): readonly PlayedGroup[] => {
  const kept = new Set(idsOf(filtered.kept));
  return window.groups.map(({ episodes, prompt: { group } }) => ({
    kept: kept.has(group),
    episodes: episodes.map((episode) =>
      turnsOf(episode).map(({ prompt, sampled }) => ({ prompt: prompt.length, sampled: sampled.ids.length })),
    ),
  }));
};

interface Gauges {
  readonly step: StageSample;
  /** Milliseconds on a core since the start: of the main thread, of the process, and of the whole machine. */
  readonly main: number;
  readonly process: number;
  readonly machine: number;
}

const milliseconds = ({ system, user }: NodeJS.CpuUsage): number => (user + system) / 1000;

/** Milliseconds that the machine's cores were not idle. */
const machineTime = (): number =>
  cpus().reduce((sum, { times: { irq, nice, sys, user } }) => sum + user + nice + sys + irq, 0);

/** How far behind the learner's version the tokens of the kept groups are. */
const staleness = ({ filtered, from }: Learned) => {
  let [stale, versionsBehind, mostBehind] = [0, 0, 0];
  for (const { episode } of filtered.kept.flatMap(({ episodes }) => episodes)) {
    for (const version of turnsOf(episode).flatMap(({ sampled }) => [...sampled.versions])) {
      if (version < from) stale++;
      versionsBehind += from - version;
      mostBehind = Math.max(mostBehind, from - version);
    }
  }
  return { stale, versionsBehind, mostBehind };
};

/** Puts what is told of a run together, window by window. */
class Watcher {
  readonly #run: Run.Run;
  readonly #generatorThreads: number;
  readonly windows: ObservedWindow[] = [];
  readonly groups: (readonly PlayedGroup[])[] = [];
  readonly steps: number[] = [];
  /** Results of `learn` whose step is not recorded yet, by step. */
  readonly #learned = new Map<number, Learned>();
  #gauges: Gauges | undefined;
  #stepping: StageSample | undefined;
  #turns = 0;

  constructor(run: Run.Run, generatorThreads: number) {
    this.#run = run;
    this.#generatorThreads = generatorThreads;
  }

  heard(event: Event): void {
    // The stages are there once the first group is admitted.
    if (event._tag === "Admitted" && this.#gauges === undefined) this.#begin();
    if (event._tag === "Finished") for (const { turns } of event.episodes) this.#turns += turns;
  }

  sampled({ stages }: Sample): void {
    const now = stages.find(({ name }) => name === "step");
    const before = this.#stepping;
    if (now !== undefined && before !== undefined && now.items > before.items) {
      this.steps.push((now.busyMs - before.busyMs) / (now.items - before.items));
    }
    this.#stepping = now;
  }

  recorded({ metrics, step }: StepRecord): void {
    const [learned, before] = [this.#learned.get(step), this.#gauges];
    if (learned === undefined || before === undefined) return;
    this.#learned.delete(step);
    const now = this.#read();
    const played = playedOf(learned);
    const { advantages = 0, update = 0, values = 0 } = learned.seconds;
    const trained = played.filter(({ kept }) => kept);
    this.groups.push(played);
    this.windows.push({
      time: 1000 * (valueIn(metrics, timing.step) ?? 0),
      learning: 1000 * (values + advantages + update),
      tokens: trained.reduce((sum, group) => sum + tokensOf(group), 0),
      trained: trained.reduce((sum, group) => sum + sampledOf(group), 0),
      ...staleness(learned),
      meanwhile: this.#between(before, now, metrics),
    });
    this.#gauges = now;
    this.#turns = 0;
  }

  #begin(): void {
    this.#gauges = this.#read();
    this.#run.stage("learn").out$.subscribe((out) => {
      // What leaves the stage of this name.
      const learned = out as Learned;
      this.#learned.set(learned.window.index + 1, learned);
    });
  }

  #read(): Gauges {
    return {
      step: this.#run.stage("step").sample(),
      main: milliseconds(process.threadCpuUsage()),
      process: milliseconds(process.cpuUsage()),
      machine: machineTime(),
    };
  }

  #between(before: Gauges, now: Gauges, metrics: Metrics): Meanwhile {
    const seconds = valueIn(metrics, timing.step) ?? 0;
    const computing = now.process - before.process;
    const sampled = seconds * (valueIn(metrics, tokens.generated) ?? 0);
    const rows = valueIn(metrics, generation.rowsPerStep);
    return {
      generating: 1000 * seconds * (valueIn(metrics, generation.busy) ?? 0) * this.#generatorThreads,
      decodeSteps: rows === undefined ? 0 : sampled / rows,
      sampled,
      prefilled: seconds * (valueIn(metrics, tokens.prefilled) ?? 0),
      turns: this.#turns,
      stepping: now.step.busyMs - before.step.busyMs,
      steps: now.step.items - before.step.items,
      main: now.main - before.main,
      computing,
      others: Math.max(0, now.machine - before.machine - computing),
    };
  }
}

/** What was seen after the warm-up, or all of it where that is nothing. */
const observedOf = ({ groups, steps, windows }: Watcher, config: RunConfig, warmUp: number): Observed => {
  const from = windows.length > warmUp ? warmUp : 0;
  return {
    settings: settingsOf(config),
    windows: windows.slice(from),
    groups: groups.slice(from).flat(),
    steps,
  };
};

/** Told of everything that is told of a run, and calls `onWindow` after each. */
const watch = (run: Run.Run, config: RunConfig, onWindow: (watcher: Watcher) => void): void => {
  const watcher = new Watcher(run, config.model.generator_threads);
  run.events$.subscribe((event) => watcher.heard(event));
  run.samples$.subscribe((sample) => watcher.sampled(sample));
  run.steps$.subscribe((record) => {
    watcher.recorded(record);
    onWindow(watcher);
  });
};

/** Runs until enough windows were seen, or for its time and then to the end of its first window. */
export const probe = ({ config, most, onWindow, warmUp, windows }: ProbeOptions) =>
  Effect.scoped(
    Effect.gen(function* () {
      const dir = yield* temporary;
      const clock = yield* Clock.Clock;
      const began = yield* Clock.currentTimeMillis;
      const enough = yield* Deferred.make<Observed>();
      const onStart = (run: Run.Run): void =>
        watch(run, config, (watcher) => {
          const count = watcher.windows.length;
          onWindow?.(count, run);
          const late = count > 0 && clock.currentTimeMillisUnsafe() - began > most;
          if (count >= warmUp + windows || late) {
            Deferred.doneUnsafe(enough, Effect.succeed(observedOf(watcher, config, warmUp)));
          }
        });
      const training = Effect.provide(
        train({ config: probing(config, dir), resume: null, parts: { onStart } }),
        Stop.onRequest,
      );
      const ended = Effect.flatMap(training, ({ reason }) =>
        Effect.fail(new BadInput({ message: `tune: a short run ended by itself (${reason ?? "complete"})` })),
      );
      return yield* Effect.raceFirst(Deferred.await(enough), ended);
    }),
  );
