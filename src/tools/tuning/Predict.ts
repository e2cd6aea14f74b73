/** Predicts the throughput of a run under settings, in virtual time. */

import { lead } from "../../domain/PipelineMode.ts";
import { mean } from "../../domain/Statistics.ts";
import { between, type Machine } from "../simulation/replay/Machine.ts";
import type { PlayedGroup } from "../simulation/replay/Played.ts";
import { run, type Settings, type Work } from "../simulation/replay/Training.ts";
import { type ObservedRun, type Throughput, throughputOf } from "./ObservedRun.ts";

/**
 * Real time over virtual time, by slots of a thread: the part that the machine's description leaves out. It is larger for few slots, since
 * a reply's slot is empty until its turn has gone through all threads and back.
 */
export type Correction = ReadonlyMap<number, number>;

/** The work of a run file, which is the same for all settings. */
export interface Workload {
  readonly groups: number;
  readonly miniBatch: number;
  readonly prefillTokens: number;
  /** Groups that were played, at least one; they are played again in turn. */
  readonly playedGroups: readonly PlayedGroup[];
  readonly correction: Correction;
}

const cycle = <A>(items: readonly A[], at: number): A => {
  const item = items[at % items.length];
  if (item === undefined) throw new RangeError("there is nothing to play again");
  return item;
};

export const workOf = ({ groups, miniBatch, playedGroups, prefillTokens }: Workload, { steps }: Machine): Work => ({
  groups,
  miniBatch,
  prefillTokens,
  play: (group) => cycle(playedGroups, group),
  step: (count) => cycle(steps, count),
});

/** Windows until a run is as it stays; and those at its end, when nothing is admitted any more. */
export const settling = (settings: Settings): number => lead(settings) + 1;

/** The windows of a run that has settled, and what they took together. */
export const settled = (machine: Machine, settings: Settings, workload: Workload, windows: number) => {
  const edge = settling(settings);
  const simulated = run(machine, settings, workOf(workload, machine), windows + 2 * edge);
  const middle = simulated.slice(edge, edge + windows);
  return { windows: middle, time: (middle.at(-1)?.at ?? 0) - (simulated[edge - 1]?.at ?? 0) };
};

const anchorWindows = 24;

/** The correction that makes virtual time agree with real runs, which differ in their slots at most; empty without any. */
export const correctionOf = (machine: Machine, workload: Workload, runs: readonly ObservedRun[]): Correction => {
  const slots = [...new Set(runs.map(({ settings }) => settings.slots))];
  const ratios = slots.flatMap((slots): readonly (readonly [number, number])[] => {
    const [first, ...others] = runs.filter(({ settings }) => settings.slots === slots);
    if (first === undefined) return [];
    const observedTime = mean([first, ...others].flatMap(({ windows }) => windows.map(({ time }) => time)));
    const simulatedTime = settled(machine, first.settings, workload, anchorWindows).time / anchorWindows;
    return Number.isFinite(observedTime) && simulatedTime > 0 ? [[slots, observedTime / simulatedTime]] : [];
  });
  return new Map(ratios);
};

/** The correction at so many slots: between those that were looked at, and the nearest one's beyond them. */
const correctionAt = (correction: Correction, slots: number): number =>
  correction.size === 0 ? 1 : between(correction, slots, Math.log);

/** The pace of a run that has settled, over `windows` windows. */
export const predict = (machine: Machine, settings: Settings, workload: Workload, windows: number): Throughput => {
  const simulated = settled(machine, settings, workload, windows);
  return throughputOf(simulated.windows, simulated.time * correctionAt(workload.correction, settings.slots));
};
