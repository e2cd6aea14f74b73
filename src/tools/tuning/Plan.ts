/**
 * The short runs that a machine is fitted to: the run file's own settings, and variations of them in which generation and updates take turns.
 * Each tells one thing more: the time of decode steps by their rows, what a second thread or lane gains, and the size of passes.
 */
import type { Settings } from "../simulation/replay/Training.ts";
import { fewSlots, passChoices, probedRows, threadChoices } from "./Space.ts";

export interface PlannedRun {
  readonly settings: Settings;
  /** Fewest windows after its warm-up. */
  readonly windows: number;
  /** Limits of replies at once, one for each window after the warm-up, over and over: wherever a run is cut, each had its turns. */
  readonly rows: readonly number[];
  /** The progress line shows these words. */
  readonly purpose: string;
}

/** The first run shows the pace of the run file, and how much generation and updates slow each other down. */
export const baseline = (shipped: Settings): PlannedRun => ({
  settings: shipped,
  windows: 6,
  rows: [],
  purpose: "the run file as it is",
});

/** The last run repeats the first, since a machine's pace changes from minute to minute. */
export const again = (shipped: Settings): PlannedRun => ({
  ...baseline(shipped),
  purpose: "the run file as it is, once more",
});

/** Further runs, the most telling first. `episodes` are those of a window. */
export const plan = (shipped: Settings, cores: number, episodes: number): readonly PlannedRun[] => {
  const apart: Settings = { ...shipped, mode: shipped.mode === "lockstep" ? "lockstep" : "sync" };
  const single: PlannedRun = {
    settings: { ...apart, generatorThreads: 1, lanes: 1 },
    windows: 5,
    rows: probedRows(shipped, episodes),
    purpose: "one generator thread and one lane, each alone",
  };
  const counts = threadChoices(cores).filter((count) => count > 1 && (count === 2 || count === cores));
  const several = counts.map(
    (count): PlannedRun => ({
      settings: { ...apart, generatorThreads: count, lanes: count },
      windows: 3,
      rows: [],
      purpose: `${count} generator threads and ${count} lanes`,
    }),
  );
  const lanes = Math.min(shipped.lanes, cores);
  const sizes = passChoices(shipped.microBatchTokens)
    .filter((size) => size !== shipped.microBatchTokens)
    .map(
      (microBatchTokens): PlannedRun => ({
        settings: { ...apart, generatorThreads: 1, lanes, microBatchTokens },
        windows: 3,
        rows: [],
        purpose: `passes of ${microBatchTokens} tokens`,
      }),
    );
  const pair: PlannedRun = {
    settings: { ...shipped, generatorThreads: 1, lanes: 1 },
    windows: 4,
    rows: [],
    purpose: "one generator thread and one lane together",
  };
  const few: PlannedRun = {
    settings: { ...shipped, slots: fewSlots(shipped, episodes) },
    windows: 4,
    rows: [],
    purpose: "the run file with a quarter of its slots",
  };
  const isPair = shipped.generatorThreads === 1 && shipped.lanes === 1;
  const async = shipped.mode !== "async" ? [] : isPair ? [few] : [few, pair];
  return [single, ...several, ...async, ...sizes];
};
