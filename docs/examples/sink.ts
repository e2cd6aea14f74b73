/**
 * A sink of your own: writes a CSV file with one row a step into the run's folder.
 *
 * A sink is told of the run (`open`), of each step, sample and event, and of the outcome (`close`). It runs on a fiber of its own behind a
 * bounded queue: if it is slow it misses the oldest messages, if it fails it is tried again and then switched off. The run never waits for
 * it. Metrics are read by their entries in the catalogue (docs/metrics.md), so a misspelt name does not compile.
 *
 * In a checkout: `npm run example -- docs/examples/sink.ts trainer.total_training_steps=10`. Where the package is installed:
 * `npx node sink.ts trainer.total_training_steps=10`. Arguments are overrides of the run file.
 */
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { train } from "millrace";
import { episodes, type Metric, type Sink, sinkOf, staleness, timing, valueIn, weights } from "millrace/metrics";

const columns: Readonly<Record<string, Metric>> = {
  success: episodes.success.of({ split: "train" }),
  staleness: staleness.mean,
  version: weights.version,
  seconds: timing.step,
};

/** Cells of one line. */
const line = (cells: readonly (string | number)[]): string => `${cells.join(",")}\n`;

const csv = (): Sink => {
  let path = "";
  return sinkOf({
    name: "csv",
    open: async ({ folder, from }) => {
      path = join(folder, "steps.csv");
      // A resumed run goes on in the file it has.
      if (from === 0) await writeFile(path, line(["step", ...Object.keys(columns)]));
    },
    // A metric that was not measured in this step is an empty cell, not a 0.
    step: ({ metrics, step }) => {
      const values = Object.values(columns).map((metric) => valueIn(metrics, metric) ?? "");
      return appendFile(path, line([step, ...values]));
    },
  });
};

const run = await train("quickstart", process.argv.slice(2), { sinks: [csv()] });
await run.ended;
console.log(join(run.folder, "steps.csv"));
