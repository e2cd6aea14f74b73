/** How a budget of time is spent: on probes first, then on real runs of the candidates and of the run file's own settings, in turns. */

/** Share of the budget for probes. */
const forProbes = 0.45;

/** When the probes have to end, milliseconds from the start. */
export const probesEnd = (budget: number): number => forProbes * budget;

export interface Confirmation {
  /** Settings that are run beside the run file's own. */
  readonly candidates: number;
  /** Real runs of each of the settings. */
  readonly rounds: number;
  readonly windows: number;
}

const fewestWindows = 4;
const mostWindows = 12;
const mostRounds = 3;

/**
 * What is left is shared by the run file's own settings and those of `candidates`, whose windows take `window` milliseconds, beside `start` to
 * start a run. Where it is not enough for all of them, the best one is run, for as long as it may.
 */
export const confirmation = (left: number, candidates: number, window: number, start: number): Confirmation => {
  const run = (windows: number) => start + windows * window;
  const enough = Math.floor(left / run(fewestWindows)) - 1;
  const tried = Math.min(candidates, Math.max(1, enough));
  const settings = tried + 1;
  const rounds = Math.min(mostRounds, Math.max(1, Math.floor(left / (settings * run(mostWindows / 2)))));
  const windows = Math.floor((left / (settings * rounds) - start) / window);
  return { candidates: tried, rounds, windows: Math.min(mostWindows, Math.max(fewestWindows, windows)) };
};
