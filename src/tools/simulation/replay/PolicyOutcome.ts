/**
 * The figures by which staleness policies are compared, from the windows of a run after its warm-up. Lengths are those of groups: tokens
 * sampled when nothing cuts them off. A group counts when its fate is decided, that is when it is trained or discarded.
 */
import { mean, sum } from "../../../domain/Statistics.ts";
import { sampledOf } from "./Played.ts";
import type { TrainingResult, Work } from "./Training.ts";

export interface PolicyOutcome {
  /** Trained tokens per millisecond. */
  readonly throughput: number;
  /** Versions by which the weights that are trained are newer than those that sampled a token. */
  readonly meanStaleness: number;
  readonly worstStaleness: number;
  /** Rows of a decode step, on average: a step that serves one version of several has fewer. */
  readonly rowsPerStep: number;
  /** Share of generated tokens that were thrown away. */
  readonly waste: number;
  /** Mean length of trained groups over the mean length of all groups. */
  readonly trainedLength: number;
  /** Share of the longest tenth of the groups that is trained, over the share of all groups that is. */
  readonly longestTenth: number;
}

/** The longest tenth's share of training, over that of all groups. */
const longestShare = (trained: readonly number[], all: readonly number[]): number => {
  const count = Math.ceil(all.length / 10);
  const limit = all.toSorted((a, b) => b - a)[count - 1] ?? 0;
  const shareAbove = (lengths: readonly number[]): number =>
    lengths.filter((length) => length >= limit).length / lengths.length;
  return shareAbove(trained) / shareAbove(all);
};

/** Measures the windows that follow the first `warmUp` ones, of which there is at least one. */
export const outcomeOf = ({ discarded, windows }: TrainingResult, { play }: Work, warmUp: number): PolicyOutcome => {
  const measured = windows.slice(warmUp);
  const from = windows[warmUp - 1]!.at;
  const wasted = discarded.filter(({ at }) => at > from);
  const generated = sum(measured.map((window) => window.generated));
  const trained = sum(measured.map((window) => window.trained));
  const lengthsOf = (numbers: readonly number[]): number[] => numbers.map((number) => sampledOf(play(number)));
  const trainedLengths = lengthsOf(measured.flatMap(({ groups }) => groups));
  const allLengths = [...trainedLengths, ...lengthsOf(wasted.map(({ number }) => number))];
  return {
    throughput: trained / (windows.at(-1)!.at - from),
    meanStaleness: sum(measured.map(({ versionsBehind }) => versionsBehind)) / trained,
    worstStaleness: Math.max(...measured.map(({ mostBehind }) => mostBehind)),
    rowsPerStep: generated / sum(measured.map(({ decodeSteps }) => decodeSteps)),
    waste: sum(wasted.map(({ tokens }) => tokens)) / generated,
    trainedLength: mean(trainedLengths) / mean(allLengths),
    longestTenth: longestShare(trainedLengths, allLengths),
  };
};
