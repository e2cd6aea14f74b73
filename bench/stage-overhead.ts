/** What the stages themselves cost an item: four flow stages that do nothing, gauges on, at several items in flight. */
import { Effect } from "effect";
import * as Pipeline from "../src/stage/Pipeline.ts";
import * as Stage from "../src/stage/Stage.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { repeat, type Samples, samplesOf } from "./samples.ts";

const ITEMS = 20_000;
const STAGES = 4;
const INBOX = 8;
const concurrencies = [1, 16, 64, 256, 1024] as const;

type Work = (item: number) => Effect.Effect<number>;
const works: Readonly<Record<string, Work>> = {
  "that answers at once": (item) => Effect.succeed(item + 1),
  "that yields to others": (item) => Effect.as(Effect.yieldNow, item + 1),
};

const pass = (concurrency: number, work: Work): Effect.Effect<void> =>
  Effect.gen(function* () {
    const stages = yield* Effect.forEach(Array.from({ length: STAGES }), (_, index) =>
      Stage.flow({ name: `stage ${index}`, inbox: INBOX, concurrency, run: work }),
    );
    const source = Pipeline.fromIterable(Array(ITEMS).keys());
    yield* stages.reduce((line, stage) => line.to(stage), source).run;
  });

const microseconds = async (concurrency: number, work: Work): Promise<Samples> =>
  samplesOf(
    (await repeat({ iterations: 5, warmup: 2 }, () => Effect.runPromise(pass(concurrency, work)))).map(
      (ms) => (ms * 1000) / ITEMS,
    ),
  );

export const bench: Bench = {
  question: "what do four stages with gauges cost an item?",
  parts: [
    async () => {
      const figures: Figure[] = [];
      for (const [name, work] of Object.entries(works)) {
        for (const concurrency of concurrencies) {
          figures.push(
            figureOf(`work ${name}, concurrency ${concurrency}`, "us", await microseconds(concurrency, work), {
              target: { atMost: 30 },
            }),
          );
        }
      }
      return () => figures;
    },
  ],
};
