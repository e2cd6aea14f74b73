/**
 * The parts of a run in virtual time, and its results. Times are milliseconds. Without an optional part, its stage takes no time, and
 * nothing shares a core.
 */
import type { PipelineMode } from "../../domain/PipelineMode.ts";
import type { StageSample } from "../../flow/Gauge.ts";
import type { ThreadShape } from "./GeneratorThreads.ts";

/** When a call is begun, and how many of its stage are in service then, this one included. */
export interface Moment {
  readonly at: number;
  readonly inService: number;
}

/** Time of a call. */
export type CallTime = (group: number, member: number, turn: number, moment: Moment) => number;
/** Time of a window's passage through a stage. */
export type WindowTime = (window: number, moment: Moment) => number;

/** Generator threads, and how long the replies are that they make. */
export interface Generators extends ThreadShape {
  readonly threads: number;
  /** Sampled tokens of a reply. */
  readonly tokens: (group: number, member: number, turn: number) => number;
  /** Tokens fed before a reply's first; 0 by default. */
  readonly prompt?: (group: number, member: number, turn: number) => number;
}

/** Steps go to threads in batches. */
export interface StepBatches {
  /** Threads: batches in service at most, whatever `stepSlots` says. */
  readonly threads: number;
  /** Requests of one batch at most. */
  readonly cap: number;
}

/** An update in micro-batches that lanes share, each lane with a core of its own where there is one. */
export interface LanesShape {
  readonly lanes: number;
  readonly micros: (window: number) => number;
  readonly micro: (window: number, index: number) => number;
  /** Time of one thread before the micro-batches; 0 by default. */
  readonly rest?: (window: number) => number;
}

/** The settings that can change while the run goes on. */
export type Setting = "rollout" | "episodes" | "generate" | "step" | "score" | "lanes";

export interface Change {
  readonly at: number;
  readonly setting: Setting;
  readonly value: number;
}

/** The gauges of the run at one moment, flow stages first. */
export interface RunSample {
  readonly elapsedMs: number;
  readonly stages: readonly StageSample[];
  readonly groupsInFlight: number;
  /** Windows consumed. */
  readonly consumed: number;
}

/** Looks at the gauges at a steady pace, and may change settings. */
export interface Observer {
  readonly everyMs: number;
  readonly onSample: (sample: RunSample, set: (setting: Setting, value: number) => void) => void;
}

export interface RunShape {
  readonly mode: PipelineMode;
  /** Groups per window, episodes per group. */
  readonly groups: number;
  readonly groupSize: number;
  readonly windows: number;
  /** Windows a group may be admitted ahead of consumption, in async. */
  readonly maxStaleness: number;
  readonly order: "admission" | "completion";
  /** Groups in flight. */
  readonly rolloutConcurrency: number;
  /** Episodes in flight, each for its whole length; infinite where groups alone are bounded. */
  readonly episodes: number;
  /** Calls in service. */
  readonly generateSlots: number;
  /** Calls in service; batches where steps are batched. */
  readonly stepSlots: number;
  readonly turns: number;
  /** Turns of one episode, where they differ. */
  readonly turnsOf?: (group: number, member: number) => number;
  /** Time of a reply; without effect where `generators` make it. */
  readonly generate: CallTime;
  readonly generators?: Generators;
  readonly step: CallTime;
  readonly stepBatches?: StepBatches;
  /** True when a step takes a core while it is in service. */
  readonly stepOnCore?: boolean;
  /** Inbox of the window stage, in groups; the stages after it have room for one window each. */
  readonly inbox: number;
  readonly score?: WindowTime;
  readonly scoreSlots?: number;
  readonly filter?: WindowTime;
  /** Time of an update; without effect where `learner` makes it. */
  readonly update: WindowTime;
  readonly learner?: LanesShape;
  /** The time includes validation and checkpoint; the update of the next window waits for it. */
  readonly close?: WindowTime;
  /** Cores that generator threads, lanes, the main thread and steps on a core share. */
  readonly cores?: number;
  /** Time of the main thread for a call's answer. Scoring and filtering are its work, too. */
  readonly mainMs?: number;
  readonly changes?: readonly Change[];
  readonly observer?: Observer;
  /** Virtual time at which the run is cut. */
  readonly until?: number;
}

export interface RunResult {
  /** When each window was consumed. */
  readonly consumedAt: readonly number[];
  /** Windows consumed between a group's admission and its own consumption, per group in order of consumption. */
  readonly staleness: readonly number[];
  /** Groups in order of consumption. */
  readonly groups: readonly number[];
}
