/**
 * Tunes a run file: short real runs, a machine fitted to them, a search in virtual time, and real runs of the best. Its state can be read
 * at any time.
 */
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { monotonicMillis } from "../../domain/Instant.ts";
import type { Machine } from "../simulation/replay/Machine.ts";
import type { Settings } from "../simulation/replay/Training.ts";
import * as Effort from "./Effort.ts";
import { machineOf } from "./Fit.ts";
import { measuredThroughput, type ObservedRun } from "./ObservedRun.ts";
import * as Plan from "./Plan.ts";
import { type Correction, correctionOf, settling, type Workload } from "./Predict.ts";
import * as Results from "./Results.ts";
import * as Search from "./Search.ts";
import { type Bounds, sameSettings, settingsOf, withSettings } from "./Space.ts";

/** A short real run that is asked for. */
export interface Probe {
  readonly config: RunConfig;
  readonly length: Effort.Length;
  /** Limits of replies at once after the warm-up, one for each window, over and over. */
  readonly rows: readonly number[];
}

export interface TuningOptions<E, R> {
  readonly config: RunConfig;
  /** The milliseconds for all of it, counted from `began`, a time of the monotonic clock. */
  readonly budget: number;
  readonly began: number;
  readonly cores: number;
  /** The largest bound on staleness that may be chosen; null leaves it as it is. */
  readonly maxStaleness: number | null;
  /** True when there is memory for a run under these settings. */
  readonly fits: (settings: Settings) => boolean;
  readonly probe: (probe: Probe) => Effect.Effect<ObservedRun, E, R>;
  /** Hears what is under way, and which share of the budget is spent. */
  readonly show: (share: number, text: string) => void;
}

/** The results so far. */
export interface TuningState {
  readonly observed: ObservedRun[];
  results: readonly Results.Result[];
  others: readonly Search.Candidate[];
  /** The settings that were looked at in virtual time. */
  count: number;
  /** The factor of real over virtual time, by slots. */
  correction: Correction;
}

/** At most this many settings are confirmed beside the run file's own. */
const candidates = 3;

/** Groups of a window: those it has of its own, and on average those that its refills bring. */
const groupsOf = ({ es_manager: { train }, filter }: RunConfig, runs: readonly ObservedRun[]): number => {
  const [groups, windows] = [
    runs.flatMap(({ groups }) => groups).length,
    runs.flatMap(({ windows }) => windows).length,
  ];
  if (filter.refill.target === 0 || windows === 0) return train.env_groups;
  return Math.max(train.env_groups, Math.round(groups / windows));
};

const workloadOf = (config: RunConfig, runs: readonly ObservedRun[]): Workload => ({
  groups: groupsOf(config, runs),
  miniBatch: config.actor.ppo_mini_batch_size,
  prefillTokens: config.generation.prefill_tokens,
  playedGroups: runs.flatMap(({ groups }) => groups),
  correction: new Map(),
});

export class Tuning<E, R> {
  readonly #options: TuningOptions<E, R>;
  readonly #shipped: Settings;
  readonly state: TuningState = { observed: [], results: [], others: [], count: 0, correction: new Map() };

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
    return Effect.map(monotonicMillis, (now) => now - this.#options.began);
  }

  #show(text: string, share?: number): Effect.Effect<void> {
    return Effect.map(this.#spent(), (spent) => this.#options.show(share ?? spent / this.#options.budget, text));
  }

  /** One short run. */
  #observe({ purpose, rows, settings }: Omit<Plan.PlannedRun, "windows">, length: Effort.Length) {
    return Effect.gen({ self: this }, function* () {
      yield* this.#show(purpose);
      const config = withSettings(this.#options.config, settings);
      const observed = yield* this.#options.probe({ config, length, rows });
      this.state.observed.push(observed);
      const { windowsPerHour } = measuredThroughput(observed);
      yield* this.#show(`${purpose}: ${windowsPerHour.toFixed(0)} windows an hour`);
      return observed;
    });
  }

  /** The run file as it is, variations of it as far as time allows, and the run file once more. */
  #probeAll() {
    return Effect.gen({ self: this }, function* () {
      const { train } = this.#options.config.es_manager;
      const end = Effort.probesEnd(this.#options.budget);
      const others = Plan.plan(this.#shipped, this.#options.cores, train.env_groups * train.group_size);
      const length = (run: Plan.PlannedRun, left: number, count: number) =>
        Effort.probeLength(left, count, settling(run.settings), run.windows);
      const left = Effect.map(this.#spent(), (spent) => end - spent);
      const [first, last] = [Plan.baseline(this.#shipped), Plan.again(this.#shipped)];
      const before = yield* left;
      const shippedRuns = yield* this.#observe(first, length(first, before, others.length + 2));
      const window = 3_600_000 / measuredThroughput(shippedRuns).windowsPerHour;
      const reserved = before - (yield* left);
      for (const [i, run] of others.entries()) {
        const now = (yield* left) - reserved;
        // A probe that is cut before it has settled would mislead the fit. Only the first is always run, since nothing can be said without
        // it.
        if (i > 0 && now < Effort.probeTime(settling(run.settings), run.windows, window)) continue;
        yield* this.#observe(run, length(run, now, others.length - i));
      }
      const now = yield* left;
      if (now > 0) yield* this.#observe(last, length(last, Math.max(now, reserved), 1));
    });
  }

  #fitted() {
    return Effect.gen({ self: this }, function* () {
      yield* this.#show("fitting the machine");
      yield* Effect.yieldNow;
      const { observed } = this.state;
      const together = observed.filter(({ settings }) => settings.mode === "async");
      const alone = observed.filter(({ settings }) => settings.mode !== "async");
      // Use runs of the file's own settings: confirming runs meet the same windows, and episodes change from window to window.
      const shippedRuns = observed.filter(({ settings }) => sameSettings(settings, this.#shipped));
      const few = together.filter(({ settings }) =>
        sameSettings({ ...settings, slots: this.#shipped.slots }, this.#shipped),
      );
      const workload = workloadOf(this.#options.config, shippedRuns);
      const machine = machineOf({ cores: this.#options.cores, alone, together }, workload);
      this.state.correction = correctionOf(machine, workload, few.length > 0 ? few : shippedRuns);
      return { machine, workload: { ...workload, correction: this.state.correction } };
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
      this.state.count = count;
      // The probes do not count: they are shorter, and the machine was fitted to them.
      this.state.results = [shipped, ...best.slice(0, candidates)].map((one) => ({ ...one, measured: [] }));
      const settings = best[0]?.settings ?? this.#shipped;
      const shown = (other: Search.Candidate) =>
        this.state.results.some((result) => sameSettings(result.settings, other.settings));
      const others = Search.trilemma(machine, settings, workload, this.#bounds.fits);
      this.state.others = others.filter((other) => !shown(other));
    });
  }

  /** Real runs of the candidates in turns, so that a machine that changes meets all of them. */
  #confirm() {
    return Effect.gen({ self: this }, function* () {
      const effort = yield* this.#effort();
      const confirmed = this.state.results.slice(0, 1 + effort.candidates);
      const runs = effort.rounds * confirmed.length;
      for (let run = 0; run < runs; run++) {
        const left = this.#options.budget - (yield* this.#spent());
        if (left <= 0 && run >= confirmed.length) return;
        const { settings } = confirmed[run % confirmed.length]!;
        const purpose = `confirming, run ${run + 1} of ${runs}`;
        const length = Effort.confirmationLength(left, runs - run, settling(settings));
        const observed = yield* this.#observe({ settings, rows: [], purpose }, length);
        this.state.results = Results.withRun(this.state.results, observed);
      }
    });
  }

  /** Finds how many candidates and runs the time left is enough for. */
  #effort() {
    return Effect.gen({ self: this }, function* () {
      const { results } = this.state;
      const slowest = Math.min(...results.map(({ predicted }) => predicted.windowsPerHour));
      const left = this.#options.budget - (yield* this.#spent());
      const most = Math.max(...results.map(({ settings }) => settling(settings)));
      return Effort.confirmation(left, results.length - 1, 3_600_000 / slowest, most);
    });
  }
}
