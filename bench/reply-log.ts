/**
 * Measures what the log of replies costs: steps of the quickstart with and without it, in turn, its bytes, and the main thread's time for
 * encoding and adding them.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { decodeAll, encode } from "../src/observe/record/replies/ReplyRecord.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, trainingRun } from "./trainingRun.ts";

const PAIRS = 3;
const STEPS = 6;

/** The logged windows of a run. Its last ones are being played. */
const windowsIn = async (folder: string): Promise<readonly Buffer[]> => {
  const names = (await readdir(join(folder, "replies"))).filter((name) => name.endsWith(".bin")).sort();
  return Promise.all(names.map((name) => readFile(join(folder, "replies", name))));
};

/** Milliseconds a step, and what the run logged. */
const measureRun = async (logs: boolean) => {
  let windows: readonly Buffer[] = [];
  const steps = await trainingRun({
    overrides: [`trainer.log_replies=${logs}`],
    lasts: { steps: STEPS },
    beside: (folder) =>
      Effect.addFinalizer(() =>
        Effect.promise(async () => {
          if (logs) windows = await windowsIn(folder);
        }),
      ),
  });
  return { stepMs: pace(steps), windows: windows.slice(0, STEPS) };
};

/** Milliseconds that encoding the replies of one window takes. */
const encodingMs = (window: Buffer): number => {
  const { records } = decodeAll(window);
  const start = performance.now();
  for (const record of records) encode(record);
  return performance.now() - start;
};

export const bench: Bench = {
  question: "what does the log of replies cost a step?",
  parts: [
    async () => {
      const ratios: number[] = [];
      const stepsMs: number[] = [];
      let windows: readonly Buffer[] = [];
      for (let pair = 0; pair < PAIRS; pair++) {
        // Every second pair begins with the log, so that a machine that slows down favours neither.
        const first = await measureRun(pair % 2 === 0);
        const second = await measureRun(pair % 2 !== 0);
        const [on, off] = pair % 2 === 0 ? [first, second] : [second, first];
        ratios.push(on.stepMs / off.stepMs);
        stepsMs.push(on.stepMs);
        windows = on.windows;
      }
      const bytes = samplesOf(windows.map(({ length }) => length));
      const replies = samplesOf(windows.map((window) => decodeAll(window).records.length));
      const encoding = samplesOf(windows.map(encodingMs));
      return (): readonly Figure[] => [
        figureOf("a step with the log over one without", "", samplesOf(ratios), { target: { atMost: 1.03 } }),
        figureOf("a step with the log", "ms", samplesOf(stepsMs)),
        figureOf("bytes of a step", "kB", bytes, { scale: 1e-3 }),
        figureOf("replies of a step", "", replies),
        figureOf("encoding of a step", "ms", encoding, { note: "on the main thread" }),
      ];
    },
  ],
};
