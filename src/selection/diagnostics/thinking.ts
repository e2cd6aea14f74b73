/** Shares of a window's turns that hold a thought. Pure; failed episodes take no part. */
import { turnsOf } from "../../domain/Episode.ts";
import { type Group, members } from "../../domain/Group.ts";
import { collapse } from "../../domain/metrics/diagnostics.ts";
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";

const share = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

/** Metrics of thoughts that are not empty. */
export const thinkingMetrics = (groups: readonly Group[]): Metrics => {
  const episodes = groups.flatMap(members).map(turnsOf);
  const turns = episodes.flat();
  const first = episodes.flatMap((played) => played.slice(0, 1));
  const thoughts = turns.filter(({ thought }) => thought !== undefined).length;
  const valid = first.filter(({ thought }) => thought !== undefined).length;
  return metricsFrom(
    [collapse.validRate, share(thoughts, turns.length)],
    [collapse.firstTotal, first.length],
    [collapse.firstValid, valid],
    [collapse.firstRate, share(valid, first.length)],
  );
};
