/**
 * What tuning does: short real runs, a machine fitted to them, a search in virtual time, and real runs of the best. What is known so far can be
 * read at any time.
 */
import { Clock, Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Machine } from "../simulation/replay/Machine.ts";
import type { Settings } from "../simulation/replay/Training.ts";
import * as Effort from "./Effort.ts";
import { machineOf } from "./Fit.ts";
import { measuredPace, type Observed } from "./Observed.ts";
import * as Plan from "./Plan.ts";
import { settling, type Workload } from "./Predict.ts";
import * as Results from "./Results.ts";
import * as Search from "./Search.ts";
import { type Bounds, settingsOf, withSettings } from "./Space.ts";

/** A short real run that is asked for. */
export interface Probe {
  readonly config: RunConfig;
  /** Windows that are left out: threads start, and the first of each shape is slow. */
  readonly warmUp: number;
  readonly windows: number;
  /** Limits of replies at once after the warm-up, one for each window; beyond them the last stays. */
  readonly rows: readonly number[];
  /** After so many milliseconds it ends with what it has seen, one window at least. */
  readonly most: number;
}

export interface TuningOptions<E, R> {
  readonly config: RunConfig;
  /** Milliseconds for all of it, from `began`, milliseconds since the Unix epoch. */
  readonly budget: number;
  readonly began: number;
  readonly cores: number;
  /** The largest bound on staleness that may be chosen; null leaves it as it is. */
  readonly maxStaleness: number | null;
  /** Whether there is memory for a run under these settings. */
  readonly fits: (settings: Settings) => boolean;
  readonly probe: (asked: Probe) => Effect.Effect<Observed, E, R>;
  /** Told of what is under way, and which share of the budget is spent. */
  readonly show: (share: number, text: string) => void;
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

/** How many settings are confirmed beside the run file's own. */
const candidates = 3;

const workloadOf = ({ actor, es_manager, generation }: RunConfig, runs: readonly Observed[]): Workload => ({
  groups: es_manager.train.env_groups,
  miniBatch: actor.ppo_mini_batch_size,
  prefillTokens: generation.prefill_tokens,
  played: runs.flatMap(({ groups }) => groups),
});

export class Tuning<E, R> {
  readonly #options: TuningOptions<E, R>;
  readonly #shipped: Settings;
  readonly known: Known = { observed: [], results: [], others: [], count: 0 };

  constructor(options: TuningOptions<E, R>) {
    this.#options = options;
    this.#shipped = settingsOf(options.config);
  }

  /** The run file's own settings. */
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
    return Effect.map(Clock.currentTimeMillis, (now) => now - this.#options.began);
  }

  #show(text: string, share?: number): Effect.Effect<void> {
    return Effect.map(this.#spent(), (spent) => this.#options.show(share ?? spent / this.#options.budget, text));
  }

  /** One short run. Its time is bounded by what is left of the budget. */
  #observe(planned: Plan.PlannedRun, left: number) {
    return Effect.gen({ self: this }, function* () {
      yield* this.#show(planned.purpose);
      const { rows, settings, windows } = planned;
      const config = withSettings(this.#options.config, settings);
      const observed = yield* this.#options.probe({ config, warmUp: settling(settings), windows, rows, most: left });
      const { windowsPerHour } = measuredPace(observed);
      yield* this.#show(`${planned.purpose}: ${windowsPerHour.toFixed(0)} windows an hour`);
      return observed;
    });
  }

  #probeAll() {
    return Effect.gen({ self: this }, function* () {
      const { train } = this.#options.config.es_manager;
      const end = Effort.probesEnd(this.#options.budget);
      const planned = Plan.plan(this.#shipped, this.#options.cores, train.env_groups * train.group_size);
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
      return { machine: machineOf({ cores: this.#options.cores, alone, together }, workload), workload };
    });
  }

  get #bounds(): Bounds {
    const { config, cores, fits, maxStaleness } = this.#options;
    const { env_groups, group_size } = config.es_manager.train;
    return {
      cores,
      fits,
      groups: env_groups,
      groupSize: group_size,
      maxStaleness: maxStaleness ?? 0,
    };
  }

  #search({ machine, workload }: { readonly machine: Machine; readonly workload: Workload }) {
    return Effect.gen({ self: this }, function* () {
      const from = (yield* this.#spent()) / this.#options.budget;
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
        const left = this.#options.budget - (yield* this.#spent());
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
      const left = this.#options.budget - (yield* this.#spent());
      const most = Math.max(...results.map(({ settings }) => settling(settings)));
      const window = 3_600_000 / slowest;
      return Effort.confirmation(left, results.length - 1, window, startMs + most * window);
    });
  }
}
