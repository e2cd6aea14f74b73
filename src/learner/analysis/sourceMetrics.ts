/** Metrics of the groups that were played for a gradient analysis, under RAGEN's names. */
import type { AnalysisGroups } from "../../config/analysisGroups.ts";
import { type Group, members } from "../../domain/Group.ts";
import { analysis } from "../../domain/metrics/diagnostics.ts";
import { filter } from "../../domain/metrics/filter.ts";
import { type Metrics, metricsFrom, valueIn } from "../../domain/metrics/Metrics.ts";

/** `filtered` are the filter's metrics of the usable groups. */
export const sourceMetrics = (analysisGroups: AnalysisGroups, groups: readonly Group[], filtered: Metrics): Metrics =>
  metricsFrom(
    [analysis.usesWindow, 0],
    [analysis.groups, analysisGroups.env_groups],
    [analysis.groupSize, analysisGroups.group_size],
    [analysis.episodes, groups.flatMap(members).length],
    [analysis.empty, valueIn(filtered, filter.empty)],
    [analysis.keptRatio, valueIn(filtered, filter.keptRatio)],
    [analysis.rewardStd, valueIn(filtered, filter.rewardStd)],
  );
