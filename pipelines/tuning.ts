/**
 * The work of the tune pipeline: short real runs, a machine fitted to them, a search in virtual time, and real runs of the best. What is known
 * so far can be read at any time.
 */
import { availableParallelism } from "node:os";
import { Clock, Effect, Exit } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Qwen2Config } from "../src/policy/model/Architecture.ts";
import { limitsHere } from "../src/process/memoryLimits.ts";
import type { Machine } from "../src/simulation/replay/Machine.ts";
import type { Settings } from "../src/simulation/replay/Training.ts";
import * as Effort from "../src/tuning/Effort.ts";
import { machineOf } from "../src/tuning/Fit.ts";
import { measuredPace, type Observed } from "../src/tuning/Observed.ts";
import * as Plan from "../src/tuning/Plan.ts";
import type { Workload } from "../src/tuning/Predict.ts";
import * as Results from "../src/tuning/Results.ts";
import * as Search from "../src/tuning/Search.ts";
import { type Bounds, settingsOf, withSettings } from "../src/tuning/Space.ts";
import { checkMemory } from "./memory.ts";
import { probe } from "./probe.ts";
import type { Progress } from "./progress.ts";

export interface TuneOptions {
  readonly config: RunConfig;
  /** The run file as it was named, and the overrides it was given. */
  readonly name: string;
  readonly overrides: readonly string[];
  readonly budgetMinutes: number;
  /** The largest bound on staleness that may be chosen; null leaves it as it is. */
  readonly maxStaleness: number | null;
  /** The run file to write; null for NAME.tuned.yaml in the working directory. */
  readonly output: string | null;
  readonly cores?: number;
}

/** What is known so far. */
export interface Known {
  readonly observed: Observed[];
  results: readonly Results.Result[];
  others: readonly Search.Candidate[];
  /** The settings that were looked at in virtual time. */
  count: number;
}

/** To start a run's threads, about. */
const startMs = 3_000;

/** Keys and values of all slots, when their sequences are as long as they may be. */
const cacheBytes = (model: Qwen2Config, positions: number, { generatorThreads, slots }: Settings): number =>
  generatorThreads *
  slots *
  positions *
  2 *
  model.layers *
  model.kvHeads *
  model.headDim *
  Float32Array.BYTES_PER_ELEMENT;

/** Half of the memory that there is: the other half is for weights, updates and everything else. */
const mostCacheBytes = (): number =>
  Math.min(...limitsHere().flatMap((limit) => (limit.of === "memory" ? [limit.bytes / 2] : [])));

/** How many settings are confirmed beside the run file's own. */
const candidates = 3;

/** Windows of a run before it is as it stays. */
const warmUpOf = ({ maxStaleness, mode }: Settings): number => (mode === "async" ? maxStaleness : 0) + 1;

const workloadOf = ({ actor, es_manager, generation }: RunConfig, runs: readonly Observed[]): Workload => ({
  groups: es_manager.train.env_groups,
  miniBatch: actor.ppo_mini_batch_size,
  prefillTokens: generation.prefill_tokens,
  played: runs.flatMap(({ groups }) => groups),
});

export class Tuning {
  readonly #options: TuneOptions;
  readonly #model: Qwen2Config;
  readonly #progress: Progress;
  readonly #budget: number;
  readonly #cores: number;
  readonly #shipped: Settings;
  readonly #began: number;
  readonly known: Known = { observed: [], results: [], others: [], count: 0 };

  constructor(options: TuneOptions, model: Qwen2Config, progress: Progress, began: number) {
    this.#options = options;
    this.#model = model;
    this.#progress = progress;
    this.#budget = options.budgetMinutes * 60_000;
    this.#cores = options.cores ?? availableParallelism();
    this.#shipped = settingsOf(options.config);
    this.#began = began;
  }

  get shipped(): Settings {
    return this.#shipped;
  }

  readonly run = Effect.gen({ self: this }, function* () {
    yield* this.#probeAll();
    const machine = yield* this.#fitted();
    yield* this.#search(machine);
    yield* this.#confirm();
  });

  #spent(): Effect.Effect<number> {
    return Effect.map(Clock.currentTimeMillis, (now) => now - this.#began);
  }

  #show(text: string, share?: number): Effect.Effect<void> {
    return Effect.map(this.#spent(), (spent) => this.#progress.show(share ?? spent / this.#budget, text));
  }

  /** One short run. Its time is bounded by what is left of the budget. */
  #observe(planned: Plan.PlannedRun, left: number) {
    return Effect.gen({ self: this }, function* () {
      yield* this.#show(planned.purpose);
      const warmUp = warmUpOf(planned.settings);
      const observed = yield* probe({
        config: withSettings(this.#options.config, planned.settings),
        warmUp,
        windows: planned.windows,
        most: left,
        onWindow: (count, run) => {
          const rows = planned.rows[count - warmUp];
          if (rows !== undefined) Effect.runSync(run.stage("generate").setConcurrency(rows));
        },
      });
      const { windowsPerHour } = measuredPace(observed);
      yield* this.#show(`${planned.purpose}: ${windowsPerHour.toFixed(0)} windows an hour`);
      return observed;
    });
  }

  #probeAll() {
    return Effect.gen({ self: this }, function* () {
      const { train } = this.#options.config.es_manager;
      const end = Effort.probesEnd(this.#budget);
      const planned = Plan.plan(this.#shipped, this.#cores, train.env_groups * train.group_size);
      for (const run of [Plan.baseline(this.#shipped), ...planned]) {
        const left = end - (yield* this.#spent());
        // The first two are what nothing can be said without.
        if (left <= 0 && this.known.observed.length >= 2) break;
        this.known.observed.push(yield* this.#observe(run, Math.max(0, left / 2)));
      }
    });
  }

  #fitted() {
    return Effect.gen({ self: this }, function* () {
      yield* this.#show("fitting the machine");
      yield* Effect.yieldNow;
      const { observed } = this.known;
      const together = observed.filter(({ settings }) => settings.mode === "async");
      const alone = observed.filter(({ settings }) => settings.mode !== "async");
      const workload = workloadOf(this.#options.config, observed);
      return { machine: machineOf({ cores: this.#cores, alone, together }, workload), workload };
    });
  }

  get #bounds(): Bounds {
    const { config, maxStaleness } = this.#options;
    const { env_groups, group_size } = config.es_manager.train;
    return {
      cores: this.#cores,
      groups: env_groups,
      groupSize: group_size,
      maxStaleness: maxStaleness ?? 0,
      fits: (settings) =>
        cacheBytes(this.#model, config.rollout.max_model_len, settings) <= mostCacheBytes() &&
        Exit.isSuccess(Effect.runSyncExit(checkMemory("train", withSettings(config, settings)))),
    };
  }

  #search({ machine, workload }: { readonly machine: Machine; readonly workload: Workload }) {
    return Effect.gen({ self: this }, function* () {
      const from = (yield* this.#spent()) / this.#budget;
      const searching = Search.search(machine, this.#shipped, workload, this.#bounds);
      let step = searching.next();
      while (step.done !== true) {
        yield* this.#show("searching in virtual time", from);
        yield* Effect.yieldNow;
        step = searching.next();
      }
      const { best, count, shipped } = step.value;
      this.known.count = count;
      const results = [shipped, ...best.slice(0, candidates)].map((candidate) => ({ ...candidate, measured: [] }));
      // The first probe ran under the run file's own settings.
      this.known.results = this.known.observed.slice(0, 1).reduce(Results.withRun, results);
      const settings = best[0]?.settings ?? this.#shipped;
      this.known.others = Search.trilemma(machine, settings, workload, this.#bounds.fits);
    });
  }

  /** Real runs of the candidates in turns, so that a machine that changes meets all of them. */
  #confirm() {
    return Effect.gen({ self: this }, function* () {
      const effort = yield* this.#effort();
      const confirmed = this.known.results.slice(0, 1 + effort.candidates);
      const runs = effort.rounds * confirmed.length;
      for (let run = 0; run < runs; run++) {
        const left = this.#budget - (yield* this.#spent());
        if (left <= 0 && run >= confirmed.length) return;
        const { settings } = confirmed[run % confirmed.length]!;
        const planned = {
          settings,
          windows: effort.windows,
          rows: [],
          purpose: `confirming, run ${run + 1} of ${runs}`,
        };
        const observed = yield* this.#observe(planned, Math.max(0, left / (runs - run)));
        this.known.observed.push(observed);
        this.known.results = Results.withRun(this.known.results, observed);
      }
    });
  }

  /** What the time that is left is enough for. */
  #effort() {
    return Effect.gen({ self: this }, function* () {
      const { results } = this.known;
      const slowest = Math.min(...results.map(({ predicted }) => predicted.windowsPerHour));
      const left = this.#budget - (yield* this.#spent());
      const most = Math.max(...results.map(({ settings }) => warmUpOf(settings)));
      const window = 3_600_000 / slowest;
      return Effort.confirmation(left, results.length - 1, window, startMs + most * window);
    });
  }
}
