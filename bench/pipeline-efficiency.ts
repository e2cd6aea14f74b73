/**
 * How close the stages come to what their service times allow: four stages of about equal capacity on timers, throughput over that of
 * the same stages, seeds and buffers in virtual time.
 */
import { mean } from "../src/domain/Statistics.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { kinds } from "./latency.ts";
import { idealLine, serviceTimes, type TimedStage, timedLine } from "./line.ts";
import { samplesOf } from "./samples.ts";

const ITEMS = 300;
const SEEDS = [1, 2, 3] as const;
const stages: readonly TimedStage[] = [
  { name: "generate", inbox: 8, concurrency: 8, mean: 40 },
  { name: "step", inbox: 8, concurrency: 4, mean: 20 },
  { name: "score", inbox: 8, concurrency: 8, mean: 40 },
  { name: "train", inbox: 8, concurrency: 4, mean: 20 },
];

export const bench: Bench = {
  question: "how much of their ideal throughput do balanced stages reach?",
  parts: [
    async () => {
      const figures: Figure[] = [];
      const late: number[] = [];
      for (const kind of kinds) {
        const shares: number[] = [];
        const bounds: number[] = [];
        for (const seed of SEEDS) {
          const times = serviceTimes(kind, stages, ITEMS, seed);
          const ideal = idealLine(stages, times, ITEMS).at(-1)!;
          const alone = idealLine(stages.slice(0, 1), times, ITEMS).at(-1)!;
          const timed = await timedLine(stages, times, ITEMS);
          shares.push(ideal / timed.left.at(-1)!);
          bounds.push(alone / ideal);
          late.push(timed.late);
        }
        figures.push(
          figureOf(`${kind}: engine over virtual time`, "", samplesOf(shares), {
            target: { atLeast: 0.98 },
            note: `${ITEMS} items through 4 stages, service times of 10 ms and more, filling and draining included`,
          }),
          figureOf(`${kind}: virtual time over the first stage alone`, "", samplesOf(bounds), {
            note: "what finite buffers and random times cost any engine",
          }),
        );
      }
      return () => [...figures, { name: "lateness of a timer, mean", value: mean(late), unit: "ms" }];
    },
  ],
};
