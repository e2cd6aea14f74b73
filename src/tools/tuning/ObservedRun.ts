/** A short real run as it was observed, window by window. Service times are fitted to nothing else. */
import type { PlayedGroup } from "../simulation/replay/Played.ts";
import type { Settings } from "../simulation/replay/Training.ts";

export interface ObservedWindow {
  /** Milliseconds from the record of the window before to its own. */
  readonly time: number;
  /** Milliseconds of its values, advantages and update. */
  readonly learning: number;
  /** Tokens of its kept sequences, prompts included. */
  readonly tokens: number;
  /** Sampled tokens among them. */
  readonly trained: number;
  /** Trained tokens that older weights sampled, by how many versions in all, and by how many at most. */
  readonly stale: number;
  readonly versionsBehind: number;
  readonly mostBehind: number;
  /** Replies that could be under way at once. */
  readonly replies: number;
  /** Work in the time of the window, for whichever window it was. */
  readonly meanwhile: Meanwhile;
}

/** The work of the threads between two records. */
export interface Meanwhile {
  /** Milliseconds of all generator threads in steps. */
  readonly generating: number;
  readonly decodeSteps: number;
  readonly sampled: number;
  readonly prefilled: number;
  /** Turns that ended. */
  readonly turns: number;
  /** Milliseconds of batches of environment steps, and the steps in them. */
  readonly stepping: number;
  readonly steps: number;
  /** Milliseconds on a core: of the main thread, of all threads of the process, and of other processes. */
  readonly main: number;
  readonly computing: number;
  readonly others: number;
}

export interface ObservedRun {
  readonly settings: Settings;
  /** In order, the first ones left out. */
  readonly windows: readonly ObservedWindow[];
  /** The groups of those windows. */
  readonly groups: readonly PlayedGroup[];
  /** Time of a step of an environment over short spans of the run, milliseconds. */
  readonly steps: readonly number[];
}

const total = (observed: ObservedRun, part: (window: ObservedWindow) => number): number =>
  observed.windows.reduce((sum, window) => sum + part(window), 0);

export interface Throughput {
  readonly windowsPerHour: number;
  /** Sampled tokens that were trained on, a second. */
  readonly trainedPerSecond: number;
  /** Share of them that older weights sampled. */
  readonly staleShare: number;
  /** Mean and most versions that a trained token was behind. */
  readonly meanBehind: number;
  readonly mostBehind: number;
}

interface Counted {
  readonly trained: number;
  readonly stale: number;
  readonly versionsBehind: number;
  readonly mostBehind: number;
}

/** The pace of `windows` that took `time` milliseconds together. */
export const throughputOf = (windows: readonly Counted[], time: number): Throughput => {
  const add = (part: (window: Counted) => number) => windows.reduce((sum, window) => sum + part(window), 0);
  const trained = add((window) => window.trained);
  const ofTrained = (part: number) => (trained === 0 ? 0 : part / trained);
  return {
    windowsPerHour: (windows.length / time) * 3_600_000,
    trainedPerSecond: (trained / time) * 1000,
    staleShare: ofTrained(add(({ stale }) => stale)),
    meanBehind: ofTrained(add(({ versionsBehind }) => versionsBehind)),
    mostBehind: windows.reduce((most, window) => Math.max(most, window.mostBehind), 0),
  };
};

/** Cores that other processes took while the runs were watched. */
export const disturbance = (runs: readonly ObservedRun[]): number => {
  const sum = (part: (window: ObservedWindow) => number) => runs.reduce((all, run) => all + total(run, part), 0);
  const time = sum((window) => window.time);
  return time === 0 ? 0 : sum(({ meanwhile }) => meanwhile.others) / time;
};

export const measuredThroughput = (observed: ObservedRun): Throughput =>
  throughputOf(
    observed.windows,
    total(observed, ({ time }) => time),
  );
