/**
 * The signs that alarms go by: conditions on a step record and what is remembered of earlier ones. Invariant: a record that does not measure a
 * sign says neither that it is there nor that it is not.
 */
import { collapse } from "../metrics/diagnostics.ts";
import { endings, episodes, ofTag, type Split } from "../metrics/episodes.ts";
import { filter } from "../metrics/filter.ts";
import { learner } from "../metrics/learner.ts";
import { type Metrics, valueIn, valuesIn } from "../metrics/Metrics.ts";
import { type Regime, regimes } from "../Regime.ts";
import { type History, meanOfLast } from "./History.ts";
import { thresholds } from "./thresholds.ts";

/** A record, and the history with it. */
export interface SignInput {
  readonly metrics: Metrics;
  readonly history: History;
}

export interface Sign {
  /** The number of records in a row with the sign that raises its alarm. */
  readonly records: number;
  /** The number of records in a row without the sign that ends its alarm. */
  readonly quiet: number;
  /** Undefined where the record does not measure it. */
  readonly isPresent: (seen: SignInput) => boolean | undefined;
  /** The measurement, as a sentence. */
  readonly describe: (seen: SignInput) => string;
}

const { quiet } = thresholds;
const percent = (share: number | undefined): string => `${Math.round((share ?? 0) * 1000) / 10} %`;
const number = (value: number | undefined): string => (value ?? 0).toPrecision(2);

/** Applies a condition to `value`; undefined where there is no value. */
const ifMeasured = (value: number | undefined, holds: (value: number) => boolean): boolean | undefined =>
  value === undefined ? undefined : holds(value);

const success = ({ metrics }: SignInput): number | undefined =>
  valueIn(metrics, episodes.success.of({ split: "train" }));
const isSolved = (seen: SignInput): boolean => seen.history.differed && (success(seen) ?? 0) >= thresholds.solved;

const parsed = ({ metrics }: SignInput): number | undefined => valueIn(metrics, episodes.parsed.of({ split: "train" }));

const unread: Sign = {
  records: thresholds.windows,
  quiet,
  isPresent: (seen) => ifMeasured(parsed(seen), (share) => share <= thresholds.legible),
  describe: (seen) => {
    const cut = valueIn(seen.metrics, episodes.cutByLength.of({ split: "train" }));
    return `${percent(parsed(seen))} of the replies could be read, for ${thresholds.windows} windows; ${percent(cut)} were cut at rollout.response_length.`;
  },
};

/** Share of the turns without a legal action, by preset. */
const illegalShares = (metrics: Metrics): ReadonlyMap<string, number> =>
  valuesIn(metrics, (tag) => ofTag.invalid.of({ split: "train", tag }));

/** Share of the turns of a preset with an action that is legal, and that the environment takes as valid where it was carried out. */
const legal = ({ metrics }: SignInput): readonly number[] => {
  const valid = valuesIn(metrics, (tag) => ofTag.info.of({ split: "train", tag, info: "action_is_valid" }));
  return [...illegalShares(metrics)].map(([tag, share]) => Math.min(1 - share, valid.get(tag) ?? 1));
};

const illegal: Sign = {
  records: thresholds.windows,
  quiet,
  isPresent: (seen) => {
    const shares = legal(seen);
    // If replies cannot be read either, the sign `unread` says more.
    if (shares.length === 0 || unread.isPresent(seen) === true) return undefined;
    return shares.every((share) => share <= thresholds.legible);
  },
  describe: (seen) =>
    `Replies can be read, but ${percent(Math.max(...legal(seen)))} of the turns had an action that is legal, for ${thresholds.windows} windows.`,
};

const failedShare = ({ metrics }: SignInput): number =>
  valueIn(metrics, endings.share.of({ split: "train", how: "failed" })) ?? 0;

const constant: Sign = {
  records: thresholds.constantWindows,
  quiet,
  isPresent: (seen) => {
    const { metrics } = seen;
    const deviation = valueIn(metrics, filter.rewardStd);
    const empty = valueIn(metrics, filter.empty);
    const [least, most] = [valueIn(metrics, learner.advantagesMin), valueIn(metrics, learner.advantagesMax)];
    if (deviation === undefined && empty === undefined) return undefined;
    if (isSolved(seen)) return false;
    return (deviation !== undefined && deviation <= thresholds.deviation) || empty === 1 || (least === 0 && most === 0);
  },
  describe: (seen) => {
    const { metrics } = seen;
    const during = `for ${thresholds.constantWindows} windows`;
    if (failedShare(seen) >= 0.5)
      return `${percent(failedShare(seen))} of the episodes failed, and nothing was kept, ${during}.`;
    const reward = number(valueIn(metrics, episodes.return.of({ split: "train" })));
    return (valueIn(metrics, filter.rewardStd) ?? 0) <= thresholds.deviation
      ? `All episodes of a group earned the same reward (${reward} on average), ${during}.`
      : `Nothing was left to train on, ${during}: the filter kept no group, or all advantages were 0.`;
  },
};

/** The environment pays the members of every group alike, so that at most their penalties differ. */
const unpaid: Sign = {
  records: thresholds.unpaidWindows,
  quiet,
  isPresent: (seen) => {
    const deviation = valueIn(seen.metrics, filter.paidStd);
    if (deviation === undefined) return undefined;
    if (deviation > thresholds.deviation || isSolved(seen)) return false;
    return Math.min(...illegalShares(seen.metrics).values()) <= 1 - thresholds.asked ? true : undefined;
  },
  describe: () =>
    `The environment paid all episodes of a group the same, for ${thresholds.unpaidWindows} windows: at most their penalties differ.`,
};

const cut = ({ metrics }: SignInput, split: Split): number | undefined =>
  valueIn(metrics, endings.share.of({ split, how: "context" }));

const cutIn = (split: Split, what: string, records: number, quiet: number): Sign => ({
  records,
  quiet,
  isPresent: (seen) => ifMeasured(cut(seen, split), (share) => share > thresholds.cut),
  describe: (seen) => `${percent(cut(seen, split))} of the ${what} ended because the context was full.`,
});

const entropy = ({ metrics }: SignInput): number | undefined =>
  valueIn(metrics, episodes.entropy.of({ split: "train" }));

const certain: Sign = {
  records: thresholds.entropyWindows,
  quiet,
  isPresent: (seen) => ifMeasured(entropy(seen), (value) => value < thresholds.entropy && !isSolved(seen)),
  describe: (seen) =>
    `Entropy is ${number(entropy(seen))} nats per token, for ${thresholds.entropyWindows} windows: nearly all replies to a prompt are the same.`,
};

/** In these regimes thoughts no longer tell of their prompts. */
const collapsedRegimes: readonly (Regime | undefined)[] = ["template_collapse", "entropy_collapse"];

const collapsed: Sign = {
  records: thresholds.collapses,
  quiet: thresholds.collapses,
  isPresent: ({ metrics }) => {
    const measured = [...valuesIn(metrics, (drawing) => collapse.regime.of({ drawing })).values()];
    return measured.length === 0 ? undefined : measured.some((index) => collapsedRegimes.includes(regimes[index]));
  },
  describe: () => `Thoughts no longer tell of their prompts, in ${thresholds.collapses} measurements.`,
};

const diverging = (
  key: "updateKl" | "referenceKl" | "effectiveShare",
  isBeyond: (mean: number) => boolean,
  sentence: (mean: string) => string,
): Sign => {
  const recentMean = ({ history }: SignInput) => meanOfLast(history[key], thresholds.divergenceWindows);
  return {
    records: 1,
    quiet,
    isPresent: (seen) => ifMeasured(recentMean(seen), isBeyond),
    describe: (seen) => `${sentence(number(recentMean(seen)))}, on average of ${thresholds.divergenceWindows} updates.`,
  };
};

const isBelow = (value: number, best: number | null): boolean =>
  best !== null && value < thresholds.declineShare * best && value <= best - thresholds.declineBy;

const declinedTraining: Sign = {
  records: 1,
  quiet,
  isPresent: ({ history }) =>
    ifMeasured(meanOfLast(history.success, thresholds.declineWindows), (value) => isBelow(value, history.bestSuccess)),
  describe: ({ history }) =>
    `Success in training is ${percent(meanOfLast(history.success, thresholds.declineWindows))}, on average of ${thresholds.declineWindows} windows, after ${percent(history.bestSuccess ?? 0)} at best.`,
};

const validated = ({ metrics }: SignInput): number | undefined =>
  valueIn(metrics, episodes.success.of({ split: "val-env" }));

const declinedValidation: Sign = {
  records: thresholds.declineValidations,
  quiet: 1,
  isPresent: (seen) => ifMeasured(validated(seen), (value) => isBelow(value, seen.history.bestValidation)),
  describe: (seen) =>
    `Success in validation is ${percent(validated(seen))}, after ${percent(seen.history.bestValidation ?? 0)} at best.`,
};

/** All signs, by name. */
export const signs = {
  unread,
  illegal,
  constant,
  unpaid,
  cutInTraining: cutIn("train", "training episodes", thresholds.windows, quiet),
  cutInValidation: cutIn("val-env", "episodes of the validation", 1, 1),
  certain,
  collapsed,
  updateKl: diverging(
    "updateKl",
    (mean) => mean > thresholds.updateKl,
    (mean) => `An update moves the policy by ${mean} nats per token`,
  ),
  referenceKl: diverging(
    "referenceKl",
    (mean) => mean > thresholds.referenceKl,
    (mean) => `The policy is ${mean} nats per token away from its reference`,
  ),
  effectiveShare: diverging(
    "effectiveShare",
    (mean) => mean < thresholds.effectiveShare,
    (mean) => `The effective share of the sample is ${mean} of 1`,
  ),
  declinedTraining,
  declinedValidation,
} as const satisfies Readonly<Record<string, Sign>>;

export type SignName = keyof typeof signs;
