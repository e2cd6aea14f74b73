/**
 * Finds the stage that bounds a run, for the page, from the attribution of the newest seconds, and the time since when it is the
 * same.
 */

import { attribute, type RunLimits } from "../../flow/attribution/Attribution.ts";
import type { RunLine } from "../record/events/RunLine.ts";
import type { BottleneckView } from "./Api.ts";
import type { AttributeBottleneck, TimedSample } from "./store/RunSnapshot.ts";

/** Updates come in lumps: over a shorter interval, the learner's share cannot be told from those of its neighbours. */
const INTERVAL_MS = 15_000;

const settingOf = ({ episodes, groupSize, mode, most }: RunLine): RunLimits => ({
  mode,
  groupSize,
  episodes,
  most: new Map(Object.entries(most)),
});

/** The sample at the start of the interval up to `end`; null if the samples do not reach back so far. */
const beforeOf = (samples: readonly TimedSample[], end: TimedSample): TimedSample | null =>
  samples.findLast(({ at }) => at <= end.at - INTERVAL_MS) ?? null;

export const bottleneckOf: AttributeBottleneck = (samples, run): BottleneckView | null => {
  if (run === null) return null;
  const setting = settingOf(run);
  const at = (end: TimedSample) => {
    const before = beforeOf(samples, end);
    return before === null ? null : attribute(before.sample.stages, end.sample.stages, setting).bottleneck;
  };
  const [newest] = samples.slice(-1);
  const bottleneck = newest === undefined ? null : at(newest);
  if (newest === undefined || bottleneck === null) return null;
  const { because, gain, limit, stage } = bottleneck;
  const other = samples.findLast((sample) => at(sample)?.stage !== stage);
  const since = samples.find((sample) => other === undefined || sample.at > other.at)?.at ?? newest.at;
  const atLeast = other === undefined || at(other) === null;
  return { stage, since, limit, gain, because, ...(atLeast ? { atLeast } : {}) };
};
