/**
 * Measures whether asynchrony costs anything where there is no latency to hide: the processor limits both stages, as
 * in the quickstart on two cores.
 */
import { type Bench, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, trainingRun } from "./trainingRun.ts";

/** Long enough for a dozen windows. */
const SECONDS = 24;
const ROUNDS = 2;

const windowMs = async (mode: "sync" | "async"): Promise<number> =>
  pace(
    await trainingRun({
      overrides: [`pipeline.mode=${mode}`],
      lasts: { seconds: SECONDS },
    }),
  );

export const bench: Bench = {
  question: "is async slower than sync where both stages are bound by two cores?",
  parts: [
    async () => {
      const times = { sync: [] as number[], async: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        times.sync.push(await windowMs("sync"));
        times.async.push(await windowMs("async"));
      }
      const sync = samplesOf(times.sync);
      const async = samplesOf(times.async);
      return () => [
        {
          name: "throughput of async over sync",
          value: sync.median / async.median,
          unit: "",
          target: { atLeast: 0.95 },
          note: `quickstart without filter, ${SECONDS} s after the first window, ${ROUNDS} runs each`,
        },
        figureOf("a window in sync", "ms", sync),
        figureOf("a window in async", "ms", async),
      ];
    },
  ],
};
