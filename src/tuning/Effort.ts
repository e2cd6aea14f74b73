/** How a budget of time is spent: on probes first, then on real runs of the candidates and of the run file's own settings, in turns. */

/** Share of the budget for probes. */
const forProbes = 0.45;

/** When the probes have to end, milliseconds from the start. */
export const probesEnd = (budget: number): number => forProbes * budget;

export interface Confirmation {
  /** Real runs of each of the settings. */
  readonly rounds: number;
  readonly windows: number;
}

const fewestWindows = 4;
const mostWindows = 12;
const mostRounds = 3;

/**
 * What is left is shared by `settings` settings whose windows take `window` milliseconds, beside `start` to start a run. Null where it is not
 * enough for one round.
 */
export const confirmation = (left: number, settings: number, window: number, start: number): Confirmation | null => {
  const run = (windows: number) => start + windows * window;
  if (settings === 0 || left < settings * run(fewestWindows)) return null;
  const rounds = Math.min(mostRounds, Math.max(1, Math.floor(left / (settings * run(mostWindows / 2)))));
  const windows = Math.floor((left / (settings * rounds) - start) / window);
  return { rounds, windows: Math.min(mostWindows, Math.max(fewestWindows, windows)) };
};
