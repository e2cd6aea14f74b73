/**
 * Measures what a fixed lag costs beside the free-running schedule: steps of the quickstart, in turn, where an environment answers at once,
 * after a while, and after times with a long tail. Beside it is the share of decode steps that served one version while another waited.
 */
import { join } from "node:path";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, type Step, trainingRun } from "./trainingRun.ts";

const PAIRS = 3;
const STEPS = 8;
/** Mean milliseconds of a slow step. */
const STEP_MS = 200;

const slowLake = join(import.meta.dirname, "fixtures", "slowLake.ts");
const slowly = (spread: string): readonly string[] => [
  `custom_envs.FrozenLake.env_type=${slowLake}`,
  `custom_envs.FrozenLake.env_config.step_ms=${STEP_MS}`,
  `custom_envs.FrozenLake.env_config.spread=${spread}`,
];

interface Case {
  readonly name: string;
  readonly maxStaleness: number;
  readonly overrides: readonly string[];
}

const cases: readonly Case[] = [
  { name: "steps at once, eta 2", maxStaleness: 2, overrides: [] },
  { name: "steps at once, eta 1", maxStaleness: 1, overrides: [] },
  { name: `steps of ${STEP_MS} ms, eta 1`, maxStaleness: 1, overrides: slowly("deterministic") },
  { name: `steps of ${STEP_MS} ms, lognormal(1), eta 1`, maxStaleness: 1, overrides: slowly("lognormal(1)") },
];

/** NaN if a step lacks the metric. */
const meanOf = (steps: readonly Step[], metric: string): number =>
  steps.reduce((sum, step) => sum + (step[metric] ?? Number.NaN), 0) / steps.length;

/** Milliseconds a window, and the share of decode steps that served one version while another waited. */
const measureRun = async ({ maxStaleness, overrides }: Case, schedule: "free_running" | "fixed_lag") => {
  const steps = await trainingRun({
    overrides: [`pipeline.schedule=${schedule}`, `pipeline.max_staleness=${maxStaleness}`, ...overrides],
    lasts: { steps: STEPS },
  });
  return { windowMs: pace(steps), split: meanOf(steps.slice(1), "generation/split_share") };
};

const measureCase = async (each: Case): Promise<readonly Figure[]> => {
  const ratios: number[] = [];
  const windows: number[] = [];
  const splits = { free: [] as number[], fixed: [] as number[] };
  for (let pair = 0; pair < PAIRS; pair++) {
    // Every second pair begins with the fixed lag, so that a machine that slows down favours neither.
    const isFixedFirst = pair % 2 === 1;
    const first = await measureRun(each, isFixedFirst ? "fixed_lag" : "free_running");
    const second = await measureRun(each, isFixedFirst ? "free_running" : "fixed_lag");
    const [fixed, free] = isFixedFirst ? [first, second] : [second, first];
    ratios.push(free.windowMs / fixed.windowMs);
    windows.push(free.windowMs);
    splits.free.push(free.split);
    splits.fixed.push(fixed.split);
  }
  const { free, fixed } = { free: samplesOf(splits.free), fixed: samplesOf(splits.fixed) };
  const note = `free-running ${(100 * free.median).toFixed(0)} %`;
  return [
    figureOf(`${each.name}: throughput over free-running`, "", samplesOf(ratios), { target: { atLeast: 0.95 } }),
    figureOf(`${each.name}: a window, free-running`, "ms", samplesOf(windows)),
    figureOf(`${each.name}: decode steps while another version waited`, "%", fixed, { scale: 100, note }),
  ];
};

export const bench: Bench = {
  question: "what does a fixed lag cost beside a free-running schedule?",
  parts: cases.map((each) => async () => {
    const figures = await measureCase(each);
    return () => figures;
  }),
};
