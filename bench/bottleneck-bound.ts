/** Whether the slowest stage sets the pace: one stage has half the capacity of its neighbours, and its pace is also measured alone. */
import { mean } from "../src/domain/Statistics.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { kinds } from "./latency.ts";
import { middle, serviceTimes, type TimedStage, timedLine } from "./line.ts";
import { samplesOf } from "./samples.ts";

const ITEMS = 400;
const SEEDS = [1, 2, 3] as const;
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
      const figures: Figure[] = [];
      const late: number[] = [];
      for (const kind of kinds) {
        const shares: number[] = [];
        for (const seed of SEEDS) {
          const times = serviceTimes(kind, stages, ITEMS, seed);
          const alone = await timedLine([stages[BOTTLENECK]!], [times[BOTTLENECK]!], ITEMS);
          const whole = await timedLine(stages, times, ITEMS);
          shares.push(middle(alone.left) / middle(whole.left));
          late.push(alone.late, whole.late);
        }
        figures.push(
          figureOf(`${kind}: throughput over the slowest stage alone`, "", samplesOf(shares), {
            target: { atLeast: 0.98 },
            note: `between the first and the last tenth of ${ITEMS} items leaving`,
          }),
        );
      }
      return () => [...figures, { name: "lateness of a timer, mean", value: mean(late), unit: "ms" }];
    },
  ],
};
