/**
 * Measures the cost of the collapse measurements: the quickstart runs without and with them, in turn, in idle time and
 * before the update. It also prints their values in that time. Windows are trained on whole.
 */
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, type Step, trainingRun } from "./trainingRun.ts";

const SECONDS = 30;
const PAIRS = 4;

const measuring = ["diagnostics.collapse.first_turn_enabled=true", "diagnostics.collapse.multi_turn_enabled=true"];

const run = (overrides: readonly string[]): Promise<readonly Step[]> =>
  trainingRun({ overrides: ["metrics.sinks=[jsonl]", ...overrides], lasts: { seconds: SECONDS } });

/** Thoughts that a measurement had, and how many measurements there were, of first turns. */
const samplesIn = (steps: readonly Step[]): readonly number[] =>
  steps.flatMap((step) => step["collapse_first_turn_sample/num_samples"] ?? []);

const part = (name: string, atLeast: number, overrides: readonly string[]) => async () => {
  const ratios: number[] = [];
  const thoughts: number[] = [];
  const shares: number[] = [];
  // The first run of a process is slower: it compiles.
  await run([]);
  for (let at = 0; at < PAIRS; at++) {
    const order = at % 2 === 0;
    const first = await run(order ? [] : [...measuring, ...overrides]);
    const second = await run(order ? [...measuring, ...overrides] : []);
    const [bare, measured] = order ? [first, second] : [second, first];
    ratios.push(pace(bare) / pace(measured));
    thoughts.push(...samplesIn(measured));
    const last = measured.findLast((step) => step["timing_s/collapse_total"] !== undefined);
    shares.push((last?.["timing_s/collapse_total"] ?? 0) / (measured.at(-1)?.["timing_s/total"] ?? Number.NaN));
  }
  const figures: readonly Figure[] = [
    figureOf(`${name}: throughput over that of a run without`, "", samplesOf(ratios), {
      target: { atLeast },
      note: `quickstart without filter, ${SECONDS} s after the first window, pairs in turn; every fifth window is measured`,
    }),
    figureOf(`${name}: the learner's time for it, of all time`, "", samplesOf(shares)),
    {
      name: `${name}: thoughts of a measurement of first turns`,
      value: thoughts.length === 0 ? 0 : samplesOf(thoughts).median,
      unit: "",
      note: `${thoughts.length} measurements`,
    },
  ];
  return () => figures;
};

export const bench: Bench = {
  question: "what do the collapse measurements cost a run?",
  parts: [
    // diagnostics.max_share is a tenth.
    part("as usual", 0.9, []),
    part("in idle time only", 0.98, ["diagnostics.collapse.placement=idle"]),
    part("before the update", 0.9, ["diagnostics.collapse.placement=before_update"]),
  ],
};
