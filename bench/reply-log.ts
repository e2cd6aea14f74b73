/**
 * Measures what the log of replies and the record for a replay cost: steps of the quickstart with and without them, in turn, the log's bytes,
 * and the main thread's time for encoding them.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { decodeAll, encode } from "../src/observe/record/replies/ReplyRecord.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, trainingRun } from "./trainingRun.ts";

const STEPS = 6;

/** The logged windows of a run. Its last ones are being played. */
const windowsIn = async (folder: string): Promise<readonly Buffer[]> => {
  const names = (await readdir(join(folder, "replies"))).filter((name) => name.endsWith(".bin")).sort();
  return Promise.all(names.map((name) => readFile(join(folder, "replies", name))));
};

/** The record that a run keeps of its replies: none, those since its last save, or all that a replay needs. */
type Recording = "nothing" | "log" | "replay";
const orders: readonly (readonly Recording[])[] = [
  ["nothing", "log", "replay"],
  ["replay", "nothing", "log"],
  ["log", "replay", "nothing"],
];

interface Measurement {
  /** Milliseconds a step. */
  readonly stepMs: number;
  /** The log's files of the first windows; none without the log. */
  readonly windows: readonly Buffer[];
}

const measureRun = async (recording: Recording): Promise<Measurement> => {
  let windows: readonly Buffer[] = [];
  const steps = await trainingRun({
    overrides: [`trainer.log_replies=${recording !== "nothing"}`, `trainer.replay=${recording === "replay"}`],
    lasts: { steps: STEPS },
    beside: (folder) =>
      Effect.addFinalizer(() =>
        Effect.promise(async () => {
          if (recording === "log") windows = await windowsIn(folder);
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
  question: "what do the log of replies and the record for a replay cost a step?",
  parts: [
    async () => {
      const ratios = { log: [] as number[], replay: [] as number[] };
      const stepsMs: number[] = [];
      let windows: readonly Buffer[] = [];
      // Each round has another order, so that a machine that slows down favours none.
      for (const order of orders) {
        const runs = new Map<Recording, Measurement>();
        for (const recording of order) runs.set(recording, await measureRun(recording));
        const [nothing, log, replay] = [runs.get("nothing")!, runs.get("log")!, runs.get("replay")!];
        ratios.log.push(log.stepMs / nothing.stepMs);
        ratios.replay.push(replay.stepMs / nothing.stepMs);
        stepsMs.push(log.stepMs);
        windows = log.windows;
      }
      const bytes = samplesOf(windows.map(({ length }) => length));
      const replies = samplesOf(windows.map((window) => decodeAll(window).records.length));
      const encoding = samplesOf(windows.map(encodingMs));
      const target = { atMost: 1.03 };
      return (): readonly Figure[] => [
        figureOf("a step with the log over one without", "", samplesOf(ratios.log), { target }),
        figureOf("a step with the record for a replay over one without", "", samplesOf(ratios.replay), { target }),
        figureOf("a step with the log", "ms", samplesOf(stepsMs)),
        figureOf("bytes of a step", "kB", bytes, { scale: 1e-3 }),
        figureOf("replies of a step", "", replies),
        figureOf("encoding of a step", "ms", encoding, { note: "on the main thread" }),
      ];
    },
  ],
};
