/**
 * The what-if table: throughput, staleness and bias of settings, as they are predicted and, where a real run was made, measured. Rows of cells;
 * what was not measured is empty.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Settings } from "../simulation/replay/Training.ts";
import type { Throughput } from "./ObservedRun.ts";
import { errorOf, medianOf, type Result, spreadOf } from "./Results.ts";
import type { Candidate } from "./Search.ts";
import { changes } from "./Space.ts";

export const percent = (share: number, signed = false): string =>
  `${signed && share >= 0 ? "+" : ""}${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)} %`;

const whole = (value: number): string => value.toFixed(value < 100 ? 1 : 0);

/** Keys that differ, short enough for a table. */
const shownChanges = (shipped: Settings, settings: Settings): string => {
  const changed = [...changes(shipped, settings)].map(([key, value]) => `${key.split(".").at(-1)}=${value}`);
  return changed.length === 0 ? "as in the run file" : changed.join(", ");
};

const staleness = ({ meanBehind, mostBehind, staleShare }: Throughput): readonly string[] => [
  `${meanBehind.toFixed(2)} / ${mostBehind}`,
  percent(staleShare),
];

const head = [
  "WINDOWS/H PREDICTED",
  "MEASURED",
  "ERROR",
  "TRAINED TOKENS/S",
  "VERSIONS BEHIND, MEAN / MOST",
  "OFF-POLICY TOKENS",
  "SETTINGS",
];

const rowOf = (shipped: Settings, { predicted, settings }: Candidate, result?: Result): readonly string[] => {
  const measured = result === undefined ? undefined : medianOf(result);
  const error = result === undefined ? undefined : errorOf(result);
  const runs = result?.measured.length ?? 0;
  const spread = result === undefined || runs < 2 ? "" : ` ±${percent(spreadOf(result))}`;
  return [
    whole(predicted.windowsPerHour),
    measured === undefined ? "" : `${whole(measured.windowsPerHour)}${spread}`,
    error === undefined ? "" : percent(error, true),
    whole((measured ?? predicted).trainedPerSecond),
    ...staleness(measured ?? predicted),
    shownChanges(shipped, settings),
  ];
};

/** Rows of the table, the head first: what was measured, the best first, and then what other bounds on staleness would give. */
export const whatIf = (
  shipped: Settings,
  results: readonly Result[],
  others: readonly Candidate[],
): readonly (readonly string[])[] => {
  const pace = (result: Result) => medianOf(result)?.windowsPerHour ?? 0;
  const measured = results.toSorted((a, b) => pace(b) - pace(a));
  return [
    head,
    ...measured.map((result) => rowOf(shipped, result, result)),
    ...others.map((candidate) => rowOf(shipped, candidate)),
  ];
};

/** Says how trained data differ from what the policy would sample, under settings with a known `pace`. */
export const biasOf = (
  config: RunConfig,
  { maxStaleness, mode, order }: Settings,
  pace: Throughput,
): readonly string[] => {
  const { algorithm, generation } = config;
  const { correction, correction_cap: cap, correction_floor: floor } = algorithm;
  const does = {
    none: "the ratio clip against mu bounds what they do",
    decoupled: "the proximal policy is computed anew",
    loglinear: "the proximal policy is interpolated by their age",
    tis: `their weights are cut at ${cap}`,
    icepop: `those with a ratio outside ${floor} to ${cap} count for nothing`,
    seq_tis: `the weights of their sequences are cut at ${cap}`,
    seq_mask: `sequences with a ratio outside ${floor} to ${cap} count for nothing`,
    seq_reject: `sequences with a ratio outside ${floor} to ${cap} count for nothing`,
    vtrace: "V-trace corrects values and advantages turn by turn",
  }[correction];
  const corrected = `${does} (algorithm.correction: ${correction})`;
  const stale = `${percent(pace.staleShare)} of the trained tokens are from older weights, ${pace.meanBehind.toFixed(2)} versions on average and ${pace.mostBehind} at most`;
  const lines =
    mode !== "async" || pace.staleShare === 0
      ? ["No trained token is from older weights."]
      : [`${stale}; ${corrected}.`];
  if (mode === "async" && order === "completion") {
    lines.push(
      `Windows form by completion: short episodes come first, and the bound of ${maxStaleness} does not hold for stragglers.`,
    );
  }
  if (mode === "async" && generation.kv_on_update === "keep") {
    lines.push(
      "A reply under way when weights change goes on with the caches of the old ones; mu is still that of the sampling.",
    );
  }
  if (generation.top_k !== -1 || generation.top_p < 1) {
    lines.push("Sampling is cut by top_k or top_p: replies that the policy could give are never trained on.");
  }
  return lines;
};
