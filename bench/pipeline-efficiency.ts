/**
 * Measures how close the stages come to the limit of their service times: four stages of about equal capacity on
 * timers. The figure is their throughput over that of the same stages, seeds and buffers in virtual time.
 */
import { type Bench, figureOf } from "./Bench.ts";
import { idealLine, overKinds, type TimedStage, timedLine } from "./line.ts";
import { samplesOf } from "./samples.ts";

const ITEMS = 300;
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
      const measure = async (times: readonly (readonly number[])[]) => {
        const ideal = idealLine(stages, times, ITEMS).at(-1)!;
        const alone = idealLine(stages.slice(0, 1), times, ITEMS).at(-1)!;
        const timed = await timedLine(stages, times, ITEMS);
        return { share: ideal / timed.left.at(-1)!, bound: alone / ideal, late: [timed.late] };
      };
      const figures = await overKinds(stages, ITEMS, measure, (kind, measures) => [
        figureOf(`${kind}: engine over virtual time`, "", samplesOf(measures.map(({ share }) => share)), {
          target: { atLeast: 0.98 },
          note: `${ITEMS} items through 4 stages, service times of 10 ms and more, filling and draining included`,
        }),
        figureOf(
          `${kind}: virtual time over the first stage alone`,
          "",
          samplesOf(measures.map(({ bound }) => bound)),
          { note: "what finite buffers and random times cost any engine" },
        ),
      ]);
      return () => figures;
    },
  ],
};
