/**
 * A run's memory of its collapse measurements, for one way of drawing them: running means, and the baseline of the regimes. It is part of
 * the run's state, so that a resumed run goes on with it; only `observe` changes it.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import type { CollapseMeasured } from "./Event.ts";
import { regimes } from "./Regime.ts";

/** Measurements that make the baseline, the run's first. */
export const BASELINE = 3;

/** Means over the first measurements, `BASELINE` at most, nats per token. */
const Baseline = Schema.Struct({ count: Count, information: Schema.Finite, entropy: Schema.Finite });
export type Baseline = typeof Baseline.Type;

export const CollapseMeans = Schema.Struct({
  /** Exponential means. Names that end in Seq are of whole thoughts, the others per token. */
  marginalStd: Schema.Finite,
  marginalStdSeq: Schema.Finite,
  zscore: Schema.Finite,
  zscoreSeq: Schema.Finite,
  baseline: Baseline,
  regime: Schema.Literals(regimes),
  /** Learner's seconds so far. */
  seconds: Schema.Finite,
});
export type CollapseMeans = typeof CollapseMeans.Type;

/** The baseline after one more measurement. */
export const withMeasured = (before: Baseline | null, { entropy, information }: Omit<Baseline, "count">): Baseline => {
  if (before === null) return { count: 1, entropy, information };
  const { count } = before;
  if (count >= BASELINE) return before;
  const mean = (old: number, value: number) => (old * count + value) / (count + 1);
  return {
    count: count + 1,
    entropy: mean(before.entropy, entropy),
    information: mean(before.information, information),
  };
};

/** The means after a measurement: decay x old + (1 - decay) x new; the first one is taken as it is. */
export const observe = (means: CollapseMeans | null, event: CollapseMeasured): CollapseMeans => {
  const { decay, measured, regime, seconds } = event;
  const mean = (old: number | undefined, value: number) =>
    old === undefined ? value : decay * old + (1 - decay) * value;
  return {
    marginalStd: mean(means?.marginalStd, measured.marginalStd),
    marginalStdSeq: mean(means?.marginalStdSeq, measured.marginalStdSeq),
    zscore: mean(means?.zscore, measured.zscore),
    zscoreSeq: mean(means?.zscoreSeq, measured.zscoreSeq),
    baseline: withMeasured(means?.baseline ?? null, measured),
    regime,
    seconds: (means?.seconds ?? 0) + seconds,
  };
};
