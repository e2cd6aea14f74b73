/**
 * The autotuner as a state machine without fibers, clocks or clients: it takes the gauges in, about once a second, and decides on changes of
 * concurrency. One change at a time is on trial against the pace before it; what does not pay is taken back and not tried again for a while.
 * Invariants: a change that stays has raised throughput by more than its noise; while nothing in the run changes, trials become rare and stay
 * within one change a minute; a run that shifts is explored afresh.
 */
import type { Control } from "../domain/Control.ts";
import type { StageSample } from "../stage/Gauge.ts";
import * as Attribution from "./Attribution.ts";
import * as Memory from "./Memory.ts";
import * as Paces from "./Paces.ts";
import * as Progress from "./Progress.ts";
import { type Knob, type Proposal, propose } from "./Proposal.ts";
import { shifted } from "./Shift.ts";
import { type Trial, type Verdict, verdict } from "./Trial.ts";

export type { Observation } from "./Progress.ts";
export type { Knob } from "./Proposal.ts";

export interface Options {
  /** The stages that it may change. */
  readonly knobs: readonly Knob[];
  readonly setting: Attribution.Setting;
}

export interface Decision {
  readonly control: Extract<Control, { readonly _tag: "SetConcurrency" }>;
  readonly reason: string;
}

export interface State {
  readonly options: Options;
  readonly progress: Progress.Progress;
  /** Gauges at the ends of the newest blocks under the present settings. */
  readonly readings: readonly (readonly StageSample[])[];
  /** Paces under the present settings, newest last. */
  readonly paces: readonly number[];
  readonly trial: Trial | null;
  readonly memories: ReadonlyMap<string, Memory.Memory>;
  /** Blocks before this time still show the last change taking hold. */
  readonly settled: number;
  /** Until then trials follow one another; from then on they are rare. */
  readonly eagerUntil: number;
  /** When a trial may begin next. */
  readonly nextTrial: number;
}

/** How long a run that starts or shifts is explored. */
const EAGER_MS = 60_000;
/** Time between the ends of two trials once it is explored: a trial is two changes at most. */
const CALM_MS = 150_000;
/** Blocks that a pace is taken from before a trial, eager and calm. */
const BASELINE = 3;
const CALM_BASELINE = 12;
/** Blocks kept. */
const KEPT = 60;
/** A change takes hold within so many service times of its stage, but at least and at most so long. */
const SETTLES = 3;
const SETTLE_MS = { least: 2000, most: 8000 };
/** Share above which the learner or admission sets the pace. */
const BOUND = 0.8;

export const start = (options: Options): State => ({
  options,
  progress: Progress.start(options.setting.mode),
  readings: [],
  paces: [],
  trial: null,
  memories: new Map(),
  settled: SETTLE_MS.least,
  eagerUntil: EAGER_MS,
  nextTrial: 0,
});

export interface Outcome {
  readonly state: State;
  readonly decisions: readonly Decision[];
}

const nothing = (state: State): Outcome => ({ state, decisions: [] });

const set = (stage: string, concurrency: number, reason: string): Decision => ({
  control: { _tag: "SetConcurrency", stage, concurrency },
  reason,
});

/** How long a change of the stage takes to show. */
const settleMs = (readings: readonly (readonly StageSample[])[], stage: string): number => {
  const sample = readings.at(-1)?.find(({ name }) => name === stage);
  const serviceMs = sample === undefined || sample.items === 0 ? 0 : sample.busyMs / sample.items;
  return Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, SETTLES * serviceMs));
};

const knobsOf = (options: Options): ReadonlyMap<string, Knob> =>
  new Map(options.knobs.map((knob) => [knob.stage, knob]));

const attributed = ({ options, readings }: State): Attribution.Attribution | null => {
  const after = readings.at(-1);
  return after === undefined || readings.length < 2
    ? null
    : Attribution.attribute(readings.at(-1 - BASELINE) ?? readings[0]!, after, options.setting);
};

const beginTrial = (state: State, proposal: Proposal, now: number): Outcome => {
  const settled = now + settleMs(state.readings, proposal.stage);
  const before = Paces.of(state.paces.slice(-CALM_BASELINE));
  const trial: Trial = { proposal, before, settled, paces: [] };
  const { from, reason, stage, to } = proposal;
  return { state: { ...state, trial, readings: [] }, decisions: [set(stage, to, `a trial of ${to} slots, from ${from}: ${reason}`)] };
};

/** Without a trial: notices a shift, or begins the next trial once the pace is known well enough. */
const watch = (state: State, now: number): Outcome => {
  if (shifted(state.paces)) {
    const afresh = {
      paces: state.paces.slice(-BASELINE),
      memories: new Map(),
      eagerUntil: now + EAGER_MS,
      nextTrial: now,
    };
    return watch({ ...state, ...afresh }, now);
  }
  const calm = now >= state.eagerUntil;
  if (now < state.nextTrial || state.paces.length < (calm ? CALM_BASELINE : BASELINE)) return nothing(state);
  const found = attributed(state);
  if (found === null) return nothing(state);
  const { loads, pulls } = found;
  const bound = pulls.some(
    ({ limit, pull }) => (limit === "update" || limit === "admission" || limit === "validation") && pull > BOUND,
  );
  const proposal = propose({ loads, pulls, memories: state.memories, now }, knobsOf(state.options), bound);
  return proposal === null ? nothing(state) : beginTrial(state, proposal, now);
};

const percent = (share: number): string => `${share >= 0 ? "+" : "-"}${Math.abs(100 * share).toFixed(1)} %`;

const endTrial = (state: State, trial: Trial, ended: Exclude<Verdict, { _tag: "Undecided" }>, now: number): Outcome => {
  const { direction, from, stage, to } = trial.proposal;
  const memory = state.memories.get(stage) ?? Memory.empty;
  const nextTrial = now >= state.eagerUntil ? now + CALM_MS : now;
  const remember = (next: Memory.Memory) => new Map(state.memories).set(stage, next);
  if (ended._tag === "Pays") {
    const memories = remember(Memory.paid(memory, direction, from, now));
    return nothing({ ...state, trial: null, paces: trial.paces, memories, nextTrial });
  }
  const settled = now + settleMs(state.readings, stage);
  const memories = remember(Memory.failed(memory, direction, to, now));
  const reason = `back from ${to} slots to ${from}: throughput ${percent(ended.gain)} (+-${(100 * ended.error).toFixed(1)}), which does not pay`;
  return {
    state: { ...state, trial: null, memories, nextTrial, settled, readings: [] },
    decisions: [set(stage, from, reason)],
  };
};

/** Takes one reading of the gauges in. */
export const observe = (before: State, observation: Progress.Observation): Outcome => {
  const now = observation.elapsedMs;
  const { pace, progress } = Progress.observe(before.progress, observation);
  const state = { ...before, progress };
  if (pace === null) return nothing(state);
  const { trial } = state;
  if (now < (trial?.settled ?? state.settled)) return nothing(state);
  const readings = [...state.readings, observation.stages].slice(-KEPT);
  if (trial === null) return watch({ ...state, readings, paces: [...state.paces, pace].slice(-KEPT) }, now);
  const tried = { ...trial, paces: [...trial.paces, pace] };
  const ended = verdict(tried);
  const next = { ...state, readings, trial: tried };
  return ended._tag === "Undecided" ? nothing(next) : endTrial(next, tried, ended, now);
};
