/**
 * The collapse measurement: whether the thoughts of a window still tell of their prompts, by the learner's own log-probabilities. It takes all
 * groups of the window, before the filter, and asks for no more work than a share of what the updates cost. In the learner's idle time it is
 * never waited for: it ends when an update needs the learner, and what is known by then is reported with the next step. An update waits for
 * it only where the run file says so, or where the learner was found to have no idle time.
 */
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import * as CollapseMeans from "../../domain/CollapseMeans.ts";
import { type CrossRequest, type CrossScores, crossTokens } from "../../domain/CrossScores.ts";
import { totalTokens } from "../../domain/Episode.ts";
import type { CollapseMeasured, Event } from "../../domain/Event.ts";
import type { Group, Window } from "../../domain/Group.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { stream } from "../../domain/Random.ts";
import { type Drawing, drawings } from "../../domain/Regime.ts";
import type { RunState } from "../../domain/RunState.ts";
import { type CollapseStatistics, statisticsOf } from "./CollapseStatistics.ts";
import { cutMetrics, measurementMetrics, thinkingMetrics } from "./collapseMetrics.ts";
import { cutTo, type Draw, draw } from "./pairs.ts";
import { regimeOf } from "./regimeOf.ts";

export interface CollapseServices<E> {
  /** The learner's. */
  readonly score: (request: CrossRequest) => Effect.Effect<CrossScores, E>;
  readonly emit: (event: Event) => Effect.Effect<void>;
  readonly state: () => Pick<RunState, "collapse">;
}

export interface Collapse<E> {
  /** Measures the window that is about to be trained on, where the run file asks for that or the learner has no idle time. */
  readonly beforeUpdate: (window: Window) => Effect.Effect<void, E>;
  /**
   * Begins in `scope` the measurement of a window that was trained on, where one is due. Returns what is known of thoughts and was not
   * returned before.
   */
  readonly afterUpdate: (window: Window, scope: Scope.Scope) => Effect.Effect<Metrics>;
}

/** A token costs an update a pass forwards and a pass backwards, which is twice as long. */
const PASSES = 3;

/** Tokens that one measurement may take through the model: `max_share` of what the updates since the last one take of whole windows. */
export const budgetOf = ({ actor, diagnostics }: RunConfig, groups: readonly Group[]): number => {
  const tokens = groups.flatMap(({ episodes }) => episodes).reduce((sum, episode) => sum + totalTokens(episode), 0);
  return diagnostics.max_share * diagnostics.collapse.compute_freq * PASSES * actor.ppo_epochs * tokens;
};

const lengthsOf = (items: readonly Int32Array[]): readonly number[] => items.map(({ length }) => length);

/** Prompts, each once, and which of them each column is. */
const distinct = (columns: readonly Int32Array[]) => {
  const index = new Map<string, number>();
  const prompts: Int32Array[] = [];
  const promptOfColumn = columns.map((column) => {
    const key = column.join();
    const existing = index.get(key);
    if (existing !== undefined) return existing;
    index.set(key, prompts.length);
    return prompts.push(column) - 1;
  });
  return { prompts, promptOfColumn };
};

const costOf = ({ columns, pairs }: Draw, passTokens: number): number =>
  crossTokens(lengthsOf(distinct(columns).prompts), lengthsOf(pairs.map(({ thought }) => thought)), passTokens);

/** The largest beginning of the draw that costs at most `budget` tokens. */
export const affordable = (drawing: Drawing, drawn: Draw, budget: number, passTokens: number): Draw => {
  let [least, most] = [0, drawn.pairs.length];
  while (least < most) {
    const count = Math.ceil((least + most) / 2);
    if (costOf(cutTo(drawing, drawn, count), passTokens) <= budget) least = count;
    else most = count - 1;
  }
  return cutTo(drawing, drawn, least);
};

const statistics = (drawn: Draw, which: readonly number[], { rows, sums }: CrossScores, eps: number) => {
  const width = rows === 0 ? 0 : sums.length / rows;
  const pairs = drawn.pairs.slice(0, rows);
  const row = (i: number) => Float64Array.from(which, (prompt) => sums[i * width + prompt]!);
  return statisticsOf(
    {
      sums: pairs.map((_, i) => row(i)),
      lengths: pairs.map(({ thought }) => thought.length),
      ownColumns: drawn.ownColumns,
      prompts: which,
    },
    eps,
  );
};

const eventOf = (
  step: number,
  drawing: Drawing,
  { bound, sequence, token }: CollapseStatistics,
  { seconds, version }: CrossScores,
  means: CollapseMeans.CollapseMeans | null,
  decay: number,
): CollapseMeasured => {
  const estimates = { entropy: -token.matched, information: token.information };
  const baseline = CollapseMeans.withMeasured(means?.baseline ?? null, estimates);
  return {
    _tag: "CollapseMeasured",
    step,
    drawing,
    version,
    measured: {
      marginalStd: token.marginalStd,
      marginalStdSeq: sequence.marginalStd,
      zscore: token.zscore,
      zscoreSeq: sequence.zscore,
      ...estimates,
    },
    decay,
    regime: regimeOf({ ...estimates, informationSeq: sequence.information, bound }, baseline),
    before: means?.regime ?? null,
    seconds,
  };
};

/** Fewest thoughts and prompts that say anything. */
const FEWEST = 2;

export const enabledDrawings = ({ diagnostics: { collapse } }: RunConfig): readonly Drawing[] =>
  drawings.filter((drawing) => (drawing === "first_turn" ? collapse.first_turn_enabled : collapse.multi_turn_enabled));

/** Scores a draw and tells what it came to; gives how many of its thoughts were scored. */
const measure = Effect.fnUntraced(function* <E>(
  config: RunConfig,
  { emit, score, state }: CollapseServices<E>,
  {
    drawing,
    drawn,
    givesWay,
    step,
  }: { readonly step: number; readonly drawing: Drawing; readonly drawn: Draw; readonly givesWay: boolean },
  report: (metrics: Metrics) => void,
) {
  const { collapse } = config.diagnostics;
  const { prompts, promptOfColumn } = distinct(drawn.columns);
  const scores = yield* score({
    prompts,
    continuations: drawn.pairs.map(({ thought }) => thought),
    temperature: config.generation.temperature,
    passTokens: config.actor.micro_batch_tokens,
    givesWay,
  });
  const cut = drawn.pairs.length - scores.rows;
  if (scores.rows < FEWEST) {
    report(cutMetrics(drawing, cut));
    return scores.rows;
  }
  const measured = statistics(drawn, promptOfColumn, scores, collapse.std_eps);
  const event = eventOf(step, drawing, measured, scores, state().collapse[drawing], collapse.ema_decay);
  yield* emit(event);
  report(
    measurementMetrics(event, measured, state().collapse, {
      samples: scores.rows,
      columns: promptOfColumn.length,
      cut,
    }),
  );
  return scores.rows;
});

/** Measures a window within its budget; gives whether there was no time for it at all. */
const measureAll = Effect.fnUntraced(function* <E>(
  config: RunConfig,
  needs: CollapseServices<E>,
  { groups, index }: Window,
  givesWay: boolean,
  report: (metrics: Metrics) => void,
) {
  const { num_samples } = config.diagnostics.collapse;
  const { micro_batch_tokens } = config.actor;
  const enabled = enabledDrawings(config);
  const step = index + 1;
  let left = budgetOf(config, groups);
  for (const [i, drawing] of enabled.entries()) {
    const counters = [step, drawings.indexOf(drawing)];
    const random = stream({ seed: config.run.seed, purpose: "diagnostics", counters });
    const all = draw(drawing, groups, num_samples === 0 ? Number.POSITIVE_INFINITY : num_samples, random);
    const drawn = affordable(drawing, all, left / (enabled.length - i), micro_batch_tokens);
    if (drawn.pairs.length < FEWEST || drawn.columns.length < FEWEST) continue;
    left -= costOf(drawn, micro_batch_tokens);
    const rows = yield* measure(config, needs, { step, drawing, drawn, givesWay }, report);
    // The weights have moved on, and with them what the rest of the window says.
    if (rows < drawn.pairs.length) return i === 0 && rows < FEWEST;
  }
  return false;
});

export const make = <E>(config: RunConfig, needs: CollapseServices<E>): Collapse<E> => {
  const { compute_freq, placement } = config.diagnostics.collapse;
  const isEnabled = enabledDrawings(config).length > 0;
  /** Metrics that are measured and in no record yet. */
  let unreported: Metrics = metricsFrom();
  /** The last measurement found no idle time. */
  let hadNoTime = false;
  /** The window whose measurement its update waited for. */
  let measuredBefore: number | null = null;
  /** One is waiting for idle time, or has it. */
  let isUnderWay = false;
  const report = (metrics: Metrics): void => {
    unreported = mergeMetrics(unreported, metrics);
  };
  const takeUnreported = ({ groups }: Window): Metrics => {
    const metrics = config.rollout.enable_think ? mergeMetrics(thinkingMetrics(groups), unreported) : unreported;
    unreported = metricsFrom();
    return metrics;
  };
  const measuring = (window: Window, givesWay: boolean) =>
    Effect.map(measureAll(config, needs, window, givesWay, report), (none) => {
      hadNoTime = none;
    });
  /** Begins one in idle time. Nobody waits for it, and a learner that is gone is told of elsewhere. */
  const begin = (window: Window, scope: Scope.Scope) =>
    Effect.suspend(() => {
      isUnderWay = true;
      const ended = Effect.sync(() => {
        isUnderWay = false;
      });
      return Effect.forkIn(Effect.ensuring(Effect.ignore(measuring(window, true)), ended), scope);
    });
  const isDue = ({ index }: Window): boolean => index === 0 || (index + 1) % compute_freq === 0;
  const isBusy = (): boolean => placement === "auto" && hadNoTime;
  return {
    beforeUpdate: (window) =>
      Effect.suspend(() => {
        const waits = isEnabled && (placement === "before_update" ? isDue(window) : isBusy() && !isUnderWay);
        if (!waits) return Effect.void;
        measuredBefore = window.index;
        return measuring(window, false);
      }),
    afterUpdate: (window, scope) =>
      Effect.suspend(() => {
        const metrics = takeUnreported(window);
        const begins = isEnabled && placement !== "before_update" && measuredBefore !== window.index;
        const hasTime = !isUnderWay && !isBusy();
        return begins && hasTime && (isDue(window) || hadNoTime)
          ? Effect.as(begin(window, scope), metrics)
          : Effect.succeed(metrics);
      }),
  };
};
