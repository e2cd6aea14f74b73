/**
 * A long run in the quickstart's shape with the console, metrics.jsonl and two test sinks; with `--hung` one of them hangs from the start.
 * `node bench/soak.ts FOLDER STEPS [--hung]` writes FOLDER/soak.json: memory over time, what each sink was given, and success before and
 * after. Two of them, with and without the hung sink, say whether a sink that hangs changes anything.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import { type Sink, train } from "../pipelines/main.ts";
import { bootstrap } from "../src/domain/intervals.ts";

const [given, stepsText, flag] = process.argv.slice(2);
if (given === undefined || !/^\d+$/.test(stepsText ?? "")) {
  console.error("node bench/soak.ts FOLDER STEPS [--hung]");
  process.exit(2);
}
const folder = resolve(given);
const steps = Number(stepsText);

/** A sink that counts what it is given, and answers as `wait` says. */
const counter = (name: string, wait: Effect.Effect<void>) => {
  const counts = { steps: 0, events: 0, samples: 0, inOrder: true, closed: "" };
  let last = -1;
  const sink: Sink = {
    name,
    essential: false,
    open: () => wait,
    step: ({ step }) =>
      Effect.sync(() => {
        counts.steps++;
        counts.inOrder &&= step === last + 1;
        last = step;
      }),
    event: () => Effect.sync(() => void counts.events++),
    gauges: () => Effect.sync(() => void counts.samples++),
    close: ({ _tag }) =>
      Effect.sync(() => {
        counts.closed = _tag;
      }),
  };
  return { counts, sink };
};

const healthy = counter("healthy", Effect.void);
const other = counter("other", flag === "--hung" ? Effect.never : Effect.void);

const linesOf = (file: string): readonly { readonly step: number; readonly success?: readonly number[] }[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const overrides = [
  `run.dir=${folder}`,
  `trainer.total_training_steps=${steps}`,
  "trainer.save_freq=500",
  "metrics.console=plain",
];
const began = performance.now();
const run = await train("quickstart", overrides, { sinks: [healthy.sink, other.sink] });
const memory: { readonly minutes: number; readonly rssMb: number; readonly heapMb: number; readonly step: number }[] =
  [];
const sampling = setInterval(() => {
  const { heapUsed, rss } = process.memoryUsage();
  const minutes = (performance.now() - began) / 60_000;
  memory.push({ minutes, rssMb: rss / 2 ** 20, heapMb: heapUsed / 2 ** 20, step: run.state().step });
}, 10_000);
const ended = await run.ended;
clearInterval(sampling);

const recorded = linesOf(join(run.folder, "metrics.jsonl")).map(({ step }) => step);
const validations = linesOf(join(run.folder, "validations.jsonl"));
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const quarter = (n: number) =>
  memory.slice(Math.floor((memory.length * n) / 4), Math.floor((memory.length * (n + 1)) / 4));
const summary = {
  hung: flag === "--hung",
  ended,
  minutes: (performance.now() - began) / 60_000,
  records: { lines: recorded.length, contiguous: recorded.every((step, i) => step === i) },
  sinks: { healthy: healthy.counts, other: other.counts },
  rssMbByQuarter: [0, 1, 2, 3].map((n) => Math.round(median(quarter(n).map(({ rssMb }) => rssMb)))),
  heapMbByQuarter: [0, 1, 2, 3].map((n) => Math.round(median(quarter(n).map(({ heapMb }) => heapMb)))),
  success: validations.map(({ step, success = [] }) => ({ step, ...bootstrap(success) })),
  outcomes: validations.at(-1)?.success ?? [],
};
writeFileSync(join(folder, "soak.json"), `${JSON.stringify({ ...summary, memory })}\n`);
const { outcomes: _, ...shown } = summary;
console.log(JSON.stringify(shown, null, 2));
process.exit(0);
