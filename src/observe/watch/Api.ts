/**
 * The JSON messages between the page and the server. All times are milliseconds since the Unix epoch. `:run` is a run's id, with the slash
 * encoded: its name and its folder's name, `quickstart/20261122-015315`. Errors are `{ "error": message }` with a fitting status.
 *
 *   GET  /api/runs                                                    RunCard[]
 *   GET  /api/catalogue                                               MetricCard[]
 *   GET  /api/comparison                                              Comparison of all runs.
 *   GET  /api/runs/:run                                               RunCard
 *   GET  /api/runs/:run/summary                                       RunSummary
 *   GET  /api/runs/:run/config                                        text/yaml, config.yaml as it is.
 *   GET  /api/runs/:run/scenes                                        Scenes
 *   GET  /api/runs/:run/names                                         string[], metrics that the run has.
 *   GET  /api/runs/:run/metrics?name=…&name=…&from=&to=&points=       Curves; at most `points` (2000) buckets of steps.
 *   GET  /api/runs/:run/metrics.csv?name=…                            text/csv, every step.
 *   GET  /api/runs/:run/timeline?points=                              Timeline
 *   GET  /api/runs/:run/line?at=                                      LineView at that time, the newest one without `at`.
 *   GET  /api/runs/:run/windows?from=&to=&limit=                      WindowView[], of the steps from..to, at most `limit` (200) evenly chosen.
 *   GET  /api/runs/:run/episodes?from=&to=&split=&tag=&success=&verdict=&offset=&limit=   EpisodePage, newest first.
 *   GET  /api/runs/:run/groups/:split/:step/:group                    EpisodeRecord[] of the group, all members.
 *   GET  /api/runs/:run/live                                          server-sent events: `line` LineView, `step` { step }, `episodes` { step },
 *                                                                     `ended` RunCard["state"]; a browser that does not read is cut off.
 *   POST /api/runs/:run/control    Authorization: Bearer TOKEN        a Control; 204, or 400 with the run's reason.
 */

import type { Control, Controller } from "../../domain/Control.ts";
import type { EpisodeRecord, VerdictName } from "../../domain/EpisodeRecord.ts";
import type { JudgedGroup } from "../../domain/Event.ts";
import type { TrackedGroup } from "../../domain/GroupPlaces.ts";
import type { Kind, Unit } from "../../domain/metrics/Metric.ts";
import type { PipelineMode } from "../../domain/PipelineMode.ts";
import type { ServerChange } from "../../domain/Server.ts";
import type { RunResult } from "../record/RunResult.ts";

export type RunStatus = "running" | "completed" | "stopped" | "failed" | "dead";

export interface RunCard {
  readonly id: string;
  readonly name: string;
  /** The folder's name, a time stamp. */
  readonly stamp: string;
  /** `dead`: the run was killed, so its last line is no end. */
  readonly state: RunStatus;
  readonly message: string | null;
  readonly mode: PipelineMode;
  readonly maxStaleness: number;
  readonly seed: number;
  readonly step: number;
  readonly steps: number;
  readonly started: number;
  readonly last: number;
  /** True if controls can reach the run: it runs on this machine. */
  readonly controllable: boolean;
}

/** The result of a run, as its folder has it now. */
export interface RunSummary extends Pick<RunResult, "kind" | "steps" | "minutes" | "validation" | "failedShare"> {
  /** Steps of the newest and the best whole checkpoint. */
  readonly checkpoint: { readonly newest: number | null; readonly best: number | null };
  /** The run's folder as an argument of a command, relative to where the server was started. */
  readonly folder: string;
}

export interface Comparison {
  /** Summaries by run id. */
  readonly summaries: Readonly<Record<string, RunSummary>>;
  /** By run id: the keys of the configuration in which the runs differ, with their values as texts. */
  readonly settings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface MetricCard {
  /** A name, or a template with `{part}`. */
  readonly name: string;
  readonly section: string;
  readonly unit: Unit;
  readonly kind: Kind;
  readonly meaning: string;
}

/** One entry for each bucket of steps: its last step and time, and the minimum, mean and maximum of each metric. */
export interface Curves {
  readonly steps: readonly number[];
  readonly times: readonly number[];
  readonly series: readonly {
    readonly name: string;
    readonly mean: readonly (number | null)[];
    readonly min: readonly (number | null)[];
    readonly max: readonly (number | null)[];
  }[];
}

export interface StageView {
  readonly name: string;
  readonly kind: "flow" | "service";
  readonly concurrency: number;
  /** True if its concurrency can be set. */
  readonly adjustable: boolean;
  readonly capacity: number;
  readonly running: number;
  readonly blocked: number;
  readonly queue: number;
  readonly items: number;
  /** Shares over the last five seconds. */
  readonly shares: { readonly busy: number; readonly starved: number; readonly blocked: number };
  /** Means over the items of the last minute; null if there were none. */
  readonly waitMs: number | null;
  readonly serviceMs: number | null;
}

/** A setting that can change live beside the stages' slots, such as the number of active lanes of the learner. */
export interface SettingView {
  readonly name: string;
  readonly concurrency: number;
  readonly most: number | null;
}

/** The stage that bounds throughput, by attribution (src/flow/attribution). */
export interface BottleneckView {
  readonly stage: string;
  readonly since: number;
  /** True if the stage may have been the bottleneck for longer: the gauges reach back no further. */
  readonly atLeast?: boolean;
  /** The limit of the stage: slots, threads, memory, admission or the update. */
  readonly limit: string;
  /** Expected gain of throughput by one more slot, as a share: 0.08 is 8 %. Null if no slot can be added. */
  readonly gain: number | null;
  /** One sentence for people. */
  readonly because: string;
}

/** An alarm of a run that cannot learn, in words. */
export interface AlarmView {
  readonly alarm: string;
  /** The subject of the alarm, and the step that raised it. */
  readonly head: string;
  /** The measurement, a reply if it helps, the likely cause, and the keys to change. */
  readonly sentences: readonly string[];
}

export interface LineView {
  readonly at: number;
  readonly step: number;
  readonly version: number;
  readonly adopted: number;
  readonly paused: boolean;
  readonly validating: { readonly step: number; readonly done: number; readonly of: number } | null;
  readonly stages: readonly StageView[];
  /** Absent if there is none. */
  readonly settings?: readonly SettingView[];
  /** Parts of the run on other machines; absent if there are none. */
  readonly servers?: readonly ServerChange[];
  /** Active alarms; absent if there is none. */
  readonly alarms?: readonly AlarmView[];
  /** Shares of failed episodes in the last step and the last validation; absent if none failed. */
  readonly failed?: { readonly training?: number; readonly validation?: number };
  readonly groups: readonly TrackedGroup[];
  readonly tokensPerSecond: { readonly generated: number; readonly trained: number };
  readonly bottleneck: BottleneckView | null;
  /** Sampled tokens of the last windows by staleness at consumption: entry i counts tokens i versions old. */
  readonly staleness: readonly number[];
  /** The last 20, the newest last. */
  readonly adoptions: readonly { readonly at: number; readonly version: number }[];
  readonly process: { readonly cpu: number; readonly rssBytes: number; readonly loopLagMs: number } | null;
}

export interface Mark {
  readonly at: number;
  readonly step: number;
  readonly kind: "validation" | "checkpoint" | "control" | "stall" | "server" | "resume" | "skipped" | "alarm" | "end";
  readonly text: string;
  readonly control?: Control;
  readonly by?: Controller;
  /** The end of the run, for a mark of kind `end`. */
  readonly outcome?: RunStatus;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  /** The ends of some steps, evenly chosen, for the slider's scale. */
  readonly steps: readonly { readonly at: number; readonly step: number }[];
  readonly marks: readonly Mark[];
}

export interface WindowView {
  readonly window: number;
  /** The step that trains it. */
  readonly step: number;
  readonly at: number;
  readonly groups: readonly JudgedGroup[];
  /** The lowest score kept (the highest if the lowest are kept); null if no group was kept. */
  readonly cut: number | null;
}

/** The notation of a preset's states: its environment, and the keys of `env_config` in the run file. */
export interface Scene {
  readonly env_type: string;
  readonly env_config: Readonly<Record<string, unknown>>;
}

/** Scenes by tag. A preset whose texts a wrapper rewrites is missing. */
export type Scenes = Readonly<Record<string, Scene>>;

export interface EpisodeCard {
  readonly step: number;
  readonly split: "train" | "val";
  readonly group: number;
  readonly member: number;
  readonly tag: string;
  readonly seed: number;
  readonly success: boolean;
  readonly reward: number;
  readonly verdict: VerdictName | null;
  readonly turns: number;
  readonly tokens: number;
  /** `Done`, or the reason why the episode was cut or failed. */
  readonly outcome: string;
}

export interface EpisodePage {
  readonly total: number;
  readonly episodes: readonly EpisodeCard[];
}

export type GroupAnswer = readonly EpisodeRecord[];
