/**
 * Compares policies that bound staleness, in virtual time and by seed: how much of the ideal throughput each leaves, how stale the trained tokens
 * are, what is thrown away, and whether long episodes are trained as often as others. `stalenessModel.ts` describes the run.
 */
import type { PolicyOutcome } from "../src/tools/simulation/replay/PolicyOutcome.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { balances, type Case, isBounded, lengths, measure, type PolicyName, policies } from "./stalenessModel.ts";

const SEEDS = [1, 2, 3];
/** Windows of a run, and those of them that do not count. */
const WINDOWS = 230;
const WARM_UP = 30;

export const bounds = [1, 2, 4] as const;

/** Names and units of the figures of a run. */
export const measures = {
  throughput: ["throughput over the ideal", ""],
  meanStaleness: ["mean staleness", "versions"],
  worstStaleness: ["worst staleness", "versions"],
  waste: ["waste over generated tokens", ""],
  trainedLength: ["trained length over mean length", ""],
  longestTenth: ["longest tenth trained over all trained", ""],
  rowsPerStep: ["rows of a decode step", ""],
} as const satisfies Record<keyof PolicyOutcome, readonly [name: string, unit: string]>;

export type Measure = keyof typeof measures;
const measureNames = Object.keys(measures) as Measure[];

export const nameOf = (setting: string, maxStaleness: number, policy: PolicyName, name: Measure): string =>
  `${setting}, max staleness ${maxStaleness}, ${policy}: ${measures[name][0]}`;

/** One change each of the balanced run with lognormal(1) lengths. */
const balanced = { balance: "balanced", lengths: "lognormal(1)" } as const;
export const variants: Readonly<Record<string, Omit<Case, "seed" | "maxStaleness">>> = {
  "a quarter of a decode step is fixed": { ...balanced, fixedShare: 0.25 },
  "nine tenths of a decode step are fixed": { ...balanced, fixedShare: 0.9 },
  "rows for two windows": { ...balanced, slots: 128 },
  "a buffer of two windows": { ...balanced, buffer: 16 },
  "independent episodes": { ...balanced, areIndependent: true },
  "slow steps, lognormal(1)": { ...balanced, hasSlowSteps: true },
  "slow steps, Pareto(1.5)": { ...balanced, hasSlowSteps: true, lengths: "Pareto(1.5)" },
};

/** Bounds at which the balanced run with long tails is measured beside the others. */
export const wideBounds = [8, 16] as const;
const wideLengths = ["lognormal(1)", "Pareto(1.5)"] as const;

const figuresOf = (setting: string, given: Omit<Case, "seed" | "maxStaleness">, maxStaleness: number): Figure[] =>
  policies.flatMap((policy) => {
    const outcomes = SEEDS.map((seed) => measure(policy, { ...given, maxStaleness, seed }, WINDOWS, WARM_UP));
    return measureNames.map((name) => {
      const values = outcomes.map((outcome) => outcome[name]);
      const [, unit] = measures[name];
      const title = nameOf(setting, maxStaleness, policy, name);
      if (name !== "worstStaleness") return figureOf(title, unit, samplesOf(values));
      const worst = { name: title, value: Math.max(...values), unit, repetitions: values.length };
      return isBounded(policy) ? { ...worst, target: { atMost: maxStaleness } } : worst;
    });
  });

const part = (figures: () => readonly Figure[]) => () => {
  const measured = figures();
  return Promise.resolve(() => measured);
};

export const bench: Bench = {
  question: "which staleness policy leaves how much throughput, at which staleness, waste and bias?",
  parts: [
    ...(Object.keys(balances) as (keyof typeof balances)[]).map((balance) =>
      part(() =>
        lengths.flatMap((kind) =>
          bounds.flatMap((bound) => figuresOf(`${balance}, ${kind}`, { balance, lengths: kind }, bound)),
        ),
      ),
    ),
    part(() =>
      wideLengths.flatMap((kind) =>
        wideBounds.flatMap((bound) => figuresOf(`balanced, ${kind}`, { ...balanced, lengths: kind }, bound)),
      ),
    ),
    part(() => Object.entries(variants).flatMap(([name, given]) => figuresOf(name, given, 2))),
  ],
};
