/** The lines of a replay: the parts that were equal, the first difference, and updates under other settings side by side. */
import { learner } from "../src/domain/metrics/learner.ts";
import { type Metrics, valueIn } from "../src/domain/metrics/Metrics.ts";
import type { UpdateDifference } from "../src/tools/replay/ReplayWatch.ts";
import type { VerificationResult, WindowDifference } from "../src/tools/replay/Verification.ts";
import { table } from "./table.ts";

/** An update that was made under one setting. */
export interface ComparedUpdate {
  readonly name: string;
  readonly metrics: Metrics | null;
  /** Trained parameters after it. */
  readonly parameters: Float32Array | null;
}

export interface ReplayedSteps {
  /** Steps of the checkpoint that the replay began with; 0 for the start. */
  readonly from: number;
  readonly until: number;
  readonly updates: number;
  readonly verification: VerificationResult;
}

const hex = (checksum: number | undefined): string => checksum?.toString(16).padStart(8, "0") ?? "none";

export const resultLines = ({ from, until, updates, verification }: ReplayedSteps): readonly string[] => [
  `steps ${from + 1} to ${until}: the parameters after each of ${updates} updates are the recorded ones`,
  `${verification.tokens} tokens were sampled again: ids and log-probabilities are the recorded ones, to the bit`,
  ...(verification.unverified === 0
    ? []
    : [`${verification.unverified} tokens were not: their sequences began under weights before the checkpoint`]),
];

export const updateDifferenceLine = ({ recorded, replayed, step }: UpdateDifference): string =>
  `the update of step ${step} is the first that differs: the checksum of its parameters was ${hex(recorded)} and is ${hex(replayed)}`;

export const tokenDifferenceLine = (
  { key, recorded, regenerated, token, version, window }: WindowDifference,
  { differing }: Pick<VerificationResult, "differing">,
): string => {
  const [group, member, turn] = key.counters;
  const place = `window ${window}, group ${group}, member ${member}, turn ${turn}, token ${token}`;
  const before = `id ${recorded.id} (log-probability ${recorded.mu})`;
  const now = `id ${regenerated.id} (log-probability ${regenerated.mu})`;
  return `the first token that differs: ${place}, sampled by version ${version}, was ${before} and is ${now}; ${differing} sequences differ`;
};

const shown = [
  learner.pgLoss,
  learner.entropy,
  learner.gradNorm,
  learner.klLoss,
  learner.ppoKl,
  learner.clipFraction,
  learner.vfLoss,
  learner.criticGradNorm,
] as const;

const distance = (a: Float32Array, b: Float32Array): number =>
  Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0));

const written = (value: number | undefined): string =>
  value === undefined ? "-" : String(Number(value.toPrecision(6)));

/** Returns the table of one update under several settings. The first is the recorded one. */
export const comparisonLines = (step: number, updates: readonly ComparedUpdate[]): readonly string[] => {
  const [recorded] = updates;
  const rows = shown
    .map((metric) => [
      metric.name,
      ...updates.map(({ metrics }) => written(metrics ? valueIn(metrics, metric) : undefined)),
    ])
    .filter(([, ...values]) => values.some((value) => value !== "-"));
  const distances = updates.map(({ parameters }) =>
    parameters === null || !recorded?.parameters ? "-" : written(distance(parameters, recorded.parameters)),
  );
  return [
    `the update of step ${step}:`,
    ...table([
      ["", ...updates.map(({ name }) => name)],
      ...rows,
      ["distance of the parameters from the recorded ones", ...distances],
    ]),
  ];
};
