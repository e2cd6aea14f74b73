/** Spends a budget of time: on probes first, then on real runs of the candidates and of the run file's own settings, in turns. */

/** Share of the budget for probes. */
const forProbes = 0.45;

/** When the probes have to end, milliseconds from the start. */
export const probesEnd = (budget: number): number => forProbes * budget;

/** The start of a run's threads takes about this long. */
const startMs = 3_000;

/** The length of a real run. Its windows are counted from its start; times are milliseconds. */
export interface Length {
  /** Windows until as much is under way as stays: they are always left out. */
  readonly settling: number;
  /** Windows that are measured, though they take longer than `time`. */
  readonly fewest: number;
  /** The time it should take, from the start of its threads on. */
  readonly time: number;
  /** The run is cut at the end of the first window after this, whatever it has seen. */
  readonly bound: number;
}

/** The progress of a real run. */
export interface Progress {
  readonly windows: number;
  /** Milliseconds since it was asked for. */
  readonly elapsed: number;
}

/** A run is at its pace after both. Compiled code and grown memory take time; new shapes take windows. */
const atPace: Progress = { windows: 8, elapsed: 10_000 };

/** Most of a run's time that is left out, as a share, beside the windows in which it settles. */
const leftOut = 1 / 3;

/** More windows tell less than another run. */
const mostWindows = 24;

/** True when windows from now on are measured. */
export const isWarm = ({ settling, time }: Length, { elapsed, windows }: Progress): boolean =>
  windows >= settling && (elapsed >= leftOut * time || (windows >= atPace.windows && elapsed >= atPace.elapsed));

/** True when a run can end. `warmUp` counts its windows that are left out, and is undefined before they have ended. */
export const isEnough = (
  { bound, fewest, time }: Length,
  { elapsed, windows }: Progress,
  warmUp: number | undefined,
): boolean => {
  if (elapsed > bound) return windows > 0;
  const measured = warmUp === undefined ? 0 : windows - warmUp;
  return measured >= mostWindows || (measured >= fewest && elapsed >= time);
};

/** The length of the next of `count` probes, when `left` milliseconds are left for all of them. */
export const probeLength = (left: number, count: number, settling: number, fewest: number): Length => {
  const time = Math.max(0, left / count);
  return { settling, fewest, time, bound: Math.max(time, left / 2) };
};

/** The least time of a probe, milliseconds, if its windows take `window` milliseconds. */
export const probeTime = (settling: number, fewest: number, window: number): number =>
  startMs + (settling + fewest) * window;

const fewestWindows = 4;

/** The length of the next of `count` real runs of the candidates. */
export const confirmationLength = (left: number, count: number, settling: number): Length => {
  const time = Math.max(0, left / count);
  return { settling, fewest: fewestWindows, time, bound: time };
};

export interface Confirmation {
  /** Settings that are run beside the run file's own. */
  readonly candidates: number;
  /** Real runs of each of the settings. */
  readonly rounds: number;
}

/** One run tells nothing of how much runs of the same settings differ. */
const fewestRounds = 2;
const mostRounds = 5;

/**
 * Shares the time left between the run file's own settings and those of `candidates`. Their windows take `window` milliseconds, and a run
 * settles after `settling` of them. If two runs of each do not fit, fewer candidates are run, the best one at least.
 */
export const confirmation = (left: number, candidates: number, window: number, settling: number): Confirmation => {
  const short = startMs + (settling + fewestWindows) * window;
  const warm = Math.max(atPace.elapsed, startMs + Math.max(settling, atPace.windows) * window);
  // Long enough to be warmed up as a probe is.
  const long = Math.max(warm / leftOut, warm + (mostWindows / 2) * window);
  const within = (length: number): number => Math.floor(left / (fewestRounds * length)) - 1;
  // If long runs do not fit often enough, the best candidate gets short ones.
  const tried = Math.min(candidates, Math.max(1, within(long)));
  const fits = (length: number): number => Math.floor(left / ((tried + 1) * length));
  const rounds = Math.min(mostRounds, Math.max(1, fits(long), Math.min(fewestRounds, fits(short))));
  return { candidates: tried, rounds };
};
