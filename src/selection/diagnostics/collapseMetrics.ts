/** Metrics of a collapse measurement, under RAGEN's names. Pure. */
import { turnsOf } from "../../domain/Episode.ts";
import type { CollapseMeasured } from "../../domain/Event.ts";
import { type Group, members } from "../../domain/Group.ts";
import { collapse } from "../../domain/metrics/diagnostics.ts";
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { type Drawing, regimes } from "../../domain/Regime.ts";
import type { RunState } from "../../domain/RunState.ts";
import type { CollapseStatistics, Retrieval } from "./CollapseStatistics.ts";

/** Thoughts that were scored, prompts that each was scored behind, and thoughts that were left out for want of time. */
export interface Size {
  readonly samples: number;
  readonly columns: number;
  readonly cut: number;
}

const retrievalMetrics = (drawing: Drawing, { accuracy, chance, k }: Retrieval): Metrics => {
  const { above, aboveAt, accuracy: share, accuracyAt, chance: level, chanceAt } = collapse;
  const labels = { drawing, k: String(k) };
  return k === 1
    ? metricsFrom([share.of(labels), accuracy], [level.of(labels), chance], [above.of(labels), accuracy - chance])
    : metricsFrom(
        [accuracyAt.of(labels), accuracy],
        [chanceAt.of(labels), chance],
        [aboveAt.of(labels), accuracy - chance],
      );
};

const secondsMetrics = (drawing: Drawing, seconds: number, after: RunState["collapse"]): Metrics => {
  const total = after[drawing]?.seconds;
  const [step, sum] =
    drawing === "first_turn"
      ? [collapse.firstSeconds, collapse.firstSecondsTotal]
      : [collapse.multiSeconds, collapse.multiSecondsTotal];
  const all = (after.first_turn?.seconds ?? 0) + (after.trajectory?.seconds ?? 0);
  return metricsFrom([step, seconds], [sum, total], [collapse.secondsTotal, all]);
};

/** `after`: the run's means with this measurement in them. */
export const measurementMetrics = (
  { drawing, measured: values, regime, seconds, step, version }: CollapseMeasured,
  { bound, retrieval, sequence, token }: CollapseStatistics,
  after: RunState["collapse"],
  { columns, cut, samples }: Size,
): Metrics => {
  const labels = { drawing };
  const means = after[drawing];
  return new Map([
    ...metricsFrom(
      [collapse.information.of(labels), token.information],
      [collapse.informationSeq.of(labels), sequence.information],
      [collapse.bound.of(labels), bound],
      [collapse.matched.of(labels), token.matched],
      [collapse.marginal.of(labels), token.marginal],
      [collapse.conditional.of(labels), values.entropy],
      [collapse.conditionalSeq.of(labels), -sequence.matched],
      [collapse.reasoning.of(labels), -token.marginal],
      [collapse.reasoningSeq.of(labels), -sequence.marginal],
      [collapse.marginalStd.of(labels), token.marginalStd],
      [collapse.marginalStdSeq.of(labels), sequence.marginalStd],
      [collapse.zscore.of(labels), token.zscore],
      [collapse.zscoreSeq.of(labels), sequence.zscore],
      [collapse.marginalStdEma.of(labels), means?.marginalStd],
      [collapse.marginalStdEmaSeq.of(labels), means?.marginalStdSeq],
      [collapse.zscoreEma.of(labels), means?.zscore],
      [collapse.zscoreEmaSeq.of(labels), means?.zscoreSeq],
      [collapse.regime.of(labels), regimes.indexOf(regime)],
      [collapse.samples.of(labels), samples],
      [collapse.columns.of(labels), columns],
      [collapse.step.of(labels), step],
      [collapse.version.of(labels), version],
      [collapse.cut.of(labels), cut],
    ),
    ...retrieval.flatMap((result) => [...retrievalMetrics(drawing, result)]),
    ...secondsMetrics(drawing, seconds, after),
  ]);
};

/** The metric of a measurement that ended too early: the number of thoughts left out. */
export const cutMetrics = (drawing: Drawing, left: number): Metrics =>
  metricsFrom([collapse.cut.of({ drawing }), left]);

const share = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

/** Metrics of thoughts that are not empty. */
export const thinkingMetrics = (groups: readonly Group[]): Metrics => {
  const episodes = groups.flatMap(members).map(turnsOf);
  const turns = episodes.flat();
  const first = episodes.flatMap((turnsOfEpisode) => turnsOfEpisode.slice(0, 1));
  const thoughts = turns.filter(({ thought }) => thought !== undefined).length;
  const valid = first.filter(({ thought }) => thought !== undefined).length;
  return metricsFrom(
    [collapse.validRate, share(thoughts, turns.length)],
    [collapse.firstTotal, first.length],
    [collapse.firstValid, valid],
    [collapse.firstRate, share(valid, first.length)],
  );
};
