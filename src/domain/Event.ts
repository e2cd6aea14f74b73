/**
 * Events of a run, as data; they alone drive the run's state (RunState) and the sinks. Invariants: every admitted group meets exactly one
 * end (trained, filtered, failed or dropped); every window is consumed by exactly one of Updated, EmptySelection and UpdateSkipped.
 */
import type { Alarm, Counts as AlarmCounts } from "./alarms/Alarms.ts";
import type { Control, Controller } from "./Control.ts";
import type { EarlyStop, EarlyStopState } from "./EarlyStops.ts";
import type { Version } from "./Episode.ts";
import type { VerdictName } from "./EpisodeRecord.ts";
import type { EpisodeSummary } from "./EpisodeSummary.ts";
import type { Metrics } from "./metrics/Metrics.ts";
import type { Drawing, Regime } from "./Regime.ts";
import type { ServerChange } from "./Server.ts";
import type { LevelResults } from "./TaskSampler.ts";

/** The run goes on from the checkpoint of `step`: what was in flight then is admitted again. */
export interface Resumed {
  readonly _tag: "Resumed";
  readonly step: number;
}

/** A group may start; it belongs to `window` where windows form in admission order. */
export interface Admitted {
  readonly _tag: "Admitted";
  readonly group: number;
  readonly window: number;
  /** The number of the window's refill that the group belongs to, from 1; absent for one of the window's own groups. */
  readonly refill?: number;
  /** The version that plays the group whole, under a fixed lag; absent where it follows the newest. */
  readonly pin?: Version;
  /** The level that the task sampler drew, as the tag under which it is played; absent for a preset without levels. */
  readonly level?: string;
  /** The probability with which that level was drawn. */
  readonly probability?: number;
}

/** All episodes of a group have ended. A failed group goes no further. */
export interface Finished {
  readonly _tag: "Finished";
  readonly group: number;
  /** Sampled tokens of the group. */
  readonly tokens: number;
  readonly failed: boolean;
  readonly tag: string;
  /** One for each member. */
  readonly episodes: readonly EpisodeSummary[];
  /** Why its first failed episode failed; of a failed group only. */
  readonly reason?: string;
}

/** A training group plays an instance of validation, the first of its tag: there are hardly any others. */
export interface ValidationRepeated {
  readonly _tag: "ValidationRepeated";
  readonly group: number;
  readonly tag: string;
}

/** The groups of a window are gathered; they go on as one. Again after each refill, with those that it brought. */
export interface Windowed {
  readonly _tag: "Windowed";
  readonly window: number;
  readonly groups: readonly number[];
}

/** The rewards of the window's episodes are computed. */
export interface Scored {
  readonly _tag: "Scored";
  readonly window: number;
}

/** The window's turn at the learner has come. */
export interface Learning {
  readonly _tag: "Learning";
  readonly window: number;
  /** Version of the weights that it trains. */
  readonly from: Version;
}

/** A group and the filter's verdict on it. */
export interface JudgedGroup {
  readonly group: number;
  readonly verdict: VerdictName;
  /** The filter's score of the group; absent for a failed group. */
  readonly score?: number;
  /** Mean reward of its episodes, penalties included. */
  readonly reward: number;
}

/** The filter kept too few groups of a window: admission is asked for more, and the whole of it is judged again with them. */
export interface Refill {
  readonly _tag: "Refill";
  readonly window: number;
  /** The number of this refill of the window, from 1. */
  readonly round: number;
  /** Groups asked for. */
  readonly groups: number;
  readonly reason: string;
}

/** The filter's verdict on a window; kept groups go on to the update. */
export interface Verdict {
  readonly _tag: "Verdict";
  readonly window: number;
  readonly kept: readonly number[];
  readonly filtered: readonly number[];
  /** One for each group of the window in its order, those that failed last. */
  readonly judged: readonly JudgedGroup[];
}

/** The common part of the events that consume a window. */
export interface Consumption {
  readonly window: number;
  /** The results of the window's groups by level, for the task sampler; absent in a run without one. */
  readonly levelResults?: LevelResults;
}

/** The window was trained on; `version` is that of the weights after it, a new one unless only the critic moved. */
export interface Updated extends Consumption {
  readonly _tag: "Updated";
  readonly groups: readonly number[];
  readonly version: Version;
  /** Tokens that took part. */
  readonly tokens: number;
  /** The quantity that kept one of the two networks from being trained; absent where both were. */
  readonly notFinite?: string;
  /** CRC-32 of the trained parameters after the update; absent unless `trainer.replay` is on. */
  readonly checksum?: number;
}

/** The window held nothing to train on; it is consumed all the same. */
export interface EmptySelection extends Consumption {
  readonly _tag: "EmptySelection";
  /** Empty windows in a row, this one included. */
  readonly consecutive: number;
}

/** The window's update was skipped and made no version; its kept groups are dropped. */
export interface UpdateSkipped extends Consumption {
  readonly _tag: "UpdateSkipped";
  readonly groups: readonly number[];
  readonly reason: string;
  /** The quantity that was not finite, where that is the reason. */
  readonly notFinite?: string;
}

/** Every generator samples with at least this version. */
export interface WeightsAdopted {
  readonly _tag: "WeightsAdopted";
  readonly version: Version;
}

/** Admitted groups cut before a verdict; their seeds are issued again by the next run. */
export interface Dropped {
  readonly _tag: "Dropped";
  readonly groups: readonly { readonly group: number; readonly tokens: number }[];
  readonly reason: "stopped";
}

/** The thoughts of a step's window were scored against prompts. */
export interface CollapseMeasured {
  readonly _tag: "CollapseMeasured";
  /** Step of the window; the measurement may be done later. */
  readonly step: number;
  readonly drawing: Drawing;
  /** The weights that scored. */
  readonly version: Version;
  /** Names that end in Seq are of whole thoughts, the others per token. `information` is the estimate of I(X;Z), `entropy` that of H(Z|X). */
  readonly measured: {
    readonly marginalStd: number;
    readonly marginalStdSeq: number;
    readonly zscore: number;
    readonly zscoreSeq: number;
    readonly information: number;
    readonly entropy: number;
  };
  /** Decay of the running means. */
  readonly decay: number;
  readonly regime: Regime;
  /** Null at the first measurement. */
  readonly before: Regime | null;
  /** The learner's seconds. */
  readonly seconds: number;
}

/** Groups played for the analysis of a window's gradients that are done; they are in no ledger. */
export interface Analysing {
  readonly _tag: "Analysing";
  readonly window: number;
  readonly done: number;
  readonly of: number;
}

/** Groups of a validation that are done. */
export interface Validating {
  readonly _tag: "Validating";
  readonly step: number;
  readonly done: number;
  readonly of: number;
}

/** A validation was played. */
export interface Validated {
  readonly _tag: "Validated";
  readonly step: number;
  /** Share of successes among the episodes that could be used; absent where none could. */
  readonly success?: number;
  /** Share of the episodes that failed; absent where none did. */
  readonly failed?: number;
}

/** A validation was due, but the window trained nothing, or a stop cut it: it is played after the next update. */
export interface ValidationPostponed {
  readonly _tag: "ValidationPostponed";
  readonly step: number;
}

/** The state of the early-stop rules after a step; emitted where one of them is on. */
export interface Watched {
  readonly _tag: "Watched";
  readonly seen: EarlyStopState;
}

/** The counts of the alarms after a step's record. */
export interface AlarmsCounted {
  readonly _tag: "AlarmsCounted";
  readonly counts: AlarmCounts;
}

/** The run shows one of the signs of a run that cannot learn. Not again while the alarm stands. */
export interface AlarmRaised extends Alarm {
  readonly _tag: "AlarmRaised";
}

/** The signs of an alarm are gone. */
export interface AlarmEnded extends Pick<Alarm, "alarm" | "step" | "title"> {
  readonly _tag: "AlarmEnded";
}

/** The step's record is written, and its validation is played where one was due. */
export interface StepClosed {
  readonly _tag: "StepClosed";
  readonly step: number;
  /** All groups of its window, the failed ones too. */
  readonly groups: readonly number[];
  /** The number of its groups that refills asked for; absent where none did. */
  readonly refilled?: number;
  /** Share of its episodes that failed; absent where none did. */
  readonly failed?: number;
  /** Seconds of training so far. */
  readonly seconds: number;
}

/** A checkpoint was written. */
export interface CheckpointWritten {
  readonly _tag: "CheckpointWritten";
  readonly step: number;
  readonly folder: string;
}

/** A checkpoint was due and is not written, because the disk is full. The ones before it stay. */
export interface CheckpointSkipped {
  readonly _tag: "CheckpointSkipped";
  readonly step: number;
  /** Names the file and what there is no room for. */
  readonly reason: string;
}

/** The run was opened again after a thread of it, or its process, had died. */
export interface Restarted {
  readonly _tag: "Restarted";
  /** The step of the checkpoint that it goes on from; 0 for a run without one, which begins again. */
  readonly step: number;
  /** Names what died. */
  readonly reason: string;
  /** Restarts that are left. */
  readonly left: number;
}

/** A run that went on is where it was: the log of replies has given what it held. */
export interface RepliesReused {
  readonly _tag: "RepliesReused";
  /** Step of the last window that the log held. */
  readonly step: number;
  /** Windows that needed no new reply. */
  readonly windows: number;
  /** Replies that were not generated again. */
  readonly replies: number;
  /** Requests that were other ones than in the log, because an environment or an agent answered otherwise. */
  readonly differing: number;
  /** Seconds until the last of the replies was given. */
  readonly seconds: number;
}

/** The log of replies is not written any more; the run goes on, and generates them again after a kill. */
export interface ReplyLogEnded {
  readonly _tag: "ReplyLogEnded";
  readonly step: number;
  readonly reason: string;
}

/** Someone, or the autotuner, changed how the run goes on. */
export interface Controlled {
  readonly _tag: "Controlled";
  readonly control: Control;
  readonly by: Controller;
  /** Why, in words, where the one who asked gives a reason. */
  readonly reason?: string;
}

/** A part of the run on another machine came into another state. */
export interface ServerChanged extends ServerChange {
  readonly _tag: "ServerChanged";
}

/** Admission is closed for good; what is in flight drains. */
export interface Stopped {
  readonly _tag: "Stopped";
  /** `stopped` by a signal, a control or the program; `stalled` because nothing happened for `pipeline.stall_abort_ms`. */
  readonly reason: "stopped" | "stalled" | "empty_selections" | "gradient_analysis" | "deadline" | EarlyStop;
  /**
   * Steps that the run still finishes: those of windows whose groups are all admitted, of a `stopped` run. 0 of one with a fixed lag that ends
   * by itself. Absent where nobody can tell.
   */
  readonly steps?: number;
  /** One sentence that says who waits for whom, of a `stalled` run. */
  readonly message?: string;
}

/** Nothing happened for long; one line per stage says what it waits for. */
export interface Stalled {
  readonly _tag: "Stalled";
  readonly silentMs: number;
  readonly lines: readonly string[];
}

/** An event of a run, told apart by `_tag`. Events alone drive the run's state. */
export type Event =
  | Resumed
  | Admitted
  | Finished
  | Windowed
  | Scored
  | Refill
  | Learning
  | Restarted
  | Controlled
  | ValidationRepeated
  | Verdict
  | Updated
  | EmptySelection
  | UpdateSkipped
  | WeightsAdopted
  | Dropped
  | CollapseMeasured
  | Analysing
  | Validating
  | Validated
  | ValidationPostponed
  | Watched
  | AlarmsCounted
  | AlarmRaised
  | AlarmEnded
  | StepClosed
  | CheckpointWritten
  | CheckpointSkipped
  | RepliesReused
  | ReplyLogEnded
  | ServerChanged
  | Stopped
  | Stalled;

/** One step of the run for the sinks. */
export interface StepRecord {
  /** Windows consumed, this one included; 0 before the first (validation of the starting weights). */
  readonly step: number;
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  readonly metrics: Metrics;
}
