/** Metrics of a collapse measurement, under RAGEN's names. Pure. */
import type { CollapseMeasured } from "../../domain/Event.ts";
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
  const of = { drawing, k: String(k) };
  return k === 1
    ? metricsFrom([share.of(of), accuracy], [level.of(of), chance], [above.of(of), accuracy - chance])
    : metricsFrom([accuracyAt.of(of), accuracy], [chanceAt.of(of), chance], [aboveAt.of(of), accuracy - chance]);
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
const of = (
  { drawing, measured: values, regime, seconds, step, version }: CollapseMeasured,
  { bound, retrieval, sequence, token }: CollapseStatistics,
  after: RunState["collapse"],
  { columns, cut, samples }: Size,
): Metrics => {
  const of = { drawing };
  const means = after[drawing];
  return new Map([
    ...metricsFrom(
      [collapse.information.of(of), token.information],
      [collapse.informationSeq.of(of), sequence.information],
      [collapse.bound.of(of), bound],
      [collapse.matched.of(of), token.matched],
      [collapse.marginal.of(of), token.marginal],
      [collapse.conditional.of(of), values.entropy],
      [collapse.conditionalSeq.of(of), -sequence.matched],
      [collapse.reasoning.of(of), -token.marginal],
      [collapse.reasoningSeq.of(of), -sequence.marginal],
      [collapse.marginalStd.of(of), token.marginalStd],
      [collapse.marginalStdSeq.of(of), sequence.marginalStd],
      [collapse.zscore.of(of), token.zscore],
      [collapse.zscoreSeq.of(of), sequence.zscore],
      [collapse.marginalStdEma.of(of), means?.marginalStd],
      [collapse.marginalStdEmaSeq.of(of), means?.marginalStdSeq],
      [collapse.zscoreEma.of(of), means?.zscore],
      [collapse.zscoreEmaSeq.of(of), means?.zscoreSeq],
      [collapse.regime.of(of), regimes.indexOf(regime)],
      [collapse.samples.of(of), samples],
      [collapse.columns.of(of), columns],
      [collapse.step.of(of), step],
      [collapse.version.of(of), version],
      [collapse.cut.of(of), cut],
    ),
    ...retrieval.flatMap((one) => [...retrievalMetrics(drawing, one)]),
    ...secondsMetrics(drawing, seconds, after),
  ]);
};

/** The metric of a measurement that ended too early: the number of thoughts left out. */
const cut = (drawing: Drawing, left: number): Metrics => metricsFrom([collapse.cut.of({ drawing }), left]);

export const collapseMetrics = { of, cut } as const;
