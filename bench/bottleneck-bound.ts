/**
 * Measures whether the slowest stage sets the throughput: one stage has half the capacity of its neighbours, and is
 * also measured alone.
 */
import { type Bench, figureOf } from "./Bench.ts";
import { middle, overKinds, type TimedStage, timedLine } from "./line.ts";
import { samplesOf } from "./samples.ts";

const ITEMS = 400;
const BOTTLENECK = 1;
const stages: readonly TimedStage[] = [
  { name: "generate", inbox: 8, concurrency: 16, mean: 32 },
  { name: "step", inbox: 16, concurrency: 8, mean: 32 },
  { name: "score", inbox: 8, concurrency: 16, mean: 32 },
];

export const bench: Bench = {
  question: "does the slowest stage (8 slots, half the capacity of the others) keep its own pace?",
  parts: [
    async () => {
      const measure = async (times: readonly (readonly number[])[]) => {
        const alone = await timedLine([stages[BOTTLENECK]!], [times[BOTTLENECK]!], ITEMS);
        const whole = await timedLine(stages, times, ITEMS);
        return { share: middle(alone.left) / middle(whole.left), late: [alone.late, whole.late] };
      };
      const figures = await overKinds(stages, ITEMS, measure, (kind, measures) => [
        figureOf(
          `${kind}: throughput over the slowest stage alone`,
          "",
          samplesOf(measures.map(({ share }) => share)),
          {
            target: { atLeast: 0.98 },
            note: `between the first and the last tenth of ${ITEMS} items leaving`,
          },
        ),
      ]);
      return () => figures;
    },
  ],
};
