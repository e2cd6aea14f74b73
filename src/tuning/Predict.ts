/** What a run comes to under settings, in virtual time. */
import type { Machine } from "../simulation/replay/Machine.ts";
import type { PlayedGroup } from "../simulation/replay/Played.ts";
import { run, type Settings, type Trained, type Work } from "../simulation/replay/Training.ts";
import { type Pace, paceOf } from "./Observed.ts";

/** What is the same for all settings of a run file. */
export interface Workload {
  readonly groups: number;
  readonly miniBatch: number;
  readonly prefillTokens: number;
  /** Groups that were played, at least one; they are played again in turn. */
  readonly played: readonly PlayedGroup[];
}

const cycle = <A>(items: readonly A[], at: number): A => {
  const item = items[at % items.length];
  if (item === undefined) throw new RangeError("there is nothing to play again");
  return item;
};

const workOf = ({ groups, miniBatch, played, prefillTokens }: Workload, { steps }: Machine): Work => ({
  groups,
  miniBatch,
  prefillTokens,
  play: (group) => cycle(played, group),
  step: (count) => cycle(steps, count),
});

export interface Predicted extends Pace {
  /** Milliseconds of an update for a token, and of the generator threads for a token sampled. */
  readonly learning: number;
  readonly generating: number;
}

/** Windows until a run is as it stays; and those at its end, when nothing is admitted any more. */
const settling = ({ maxStaleness, mode }: Settings): number => (mode === "async" ? maxStaleness : 0) + 1;

const learningOf = ({ windows }: Trained): number => windows.reduce((sum, { learning }) => sum + learning, 0);

/** The pace over `windows` windows of a run that has settled. */
export const predict = (machine: Machine, settings: Settings, workload: Workload, windows: number): Predicted => {
  const edge = settling(settings);
  const trained = run(machine, settings, workOf(workload, machine), windows + 2 * edge);
  const middle = trained.windows.slice(edge, edge + windows);
  const time = middle.at(-1)!.at - trained.windows[edge - 1]!.at;
  const sampled = trained.windows.reduce((sum, window) => sum + window.sampled, 0);
  const tokens = trained.windows.reduce((sum, window) => sum + window.tokens, 0);
  return {
    ...paceOf(middle, time),
    learning: tokens === 0 ? 0 : learningOf(trained) / tokens,
    generating: sampled === 0 ? 0 : trained.generating / sampled,
  };
};
