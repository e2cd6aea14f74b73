/**
 * The autotuner as a state machine without fibers, clocks or clients: it takes the gauges in, about once a second, and decides on changes of
 * concurrency. One change at a time is on trial against what was measured before it; what does not pay is taken back and not tried again for a
 * while.
 * Invariants: a change that stays has shown more than its noise; while nothing in the run changes, trials become rare and stay within one
 * change a minute; a run that shifts is explored afresh.
 */
import type { Control } from "../domain/Control.ts";
import { type StageSample, times } from "../stage/Gauge.ts";
import * as Attribution from "./Attribution.ts";
import * as Memory from "./Memory.ts";
import * as Progress from "./Progress.ts";
import { type Knob, type Proposal, propose } from "./Proposal.ts";
import { rates, shifted } from "./Shift.ts";
import * as StageLoad from "./StageLoad.ts";
import { type Block, blockOf, type Trial, type Verdict, verdict } from "./Trial.ts";

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

/** The end of a block: all gauges, and the pace of the block. */
interface Reading {
  readonly stages: readonly StageSample[];
  readonly pace: number;
}

export interface State {
  readonly options: Options;
  readonly progress: Progress.Progress;
  /** Ends of the newest blocks under the present settings; the first only begins the second. */
  readonly readings: readonly Reading[];
  readonly trial: Trial | null;
  /** Slots of each stage that were in use at most, older times counting less. */
  readonly peaks: ReadonlyMap<string, number>;
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
/** Blocks before a trial that it is held against, while the run is explored and later. */
const BASELINE = { eager: 3, calm: 12 };
const KEPT = 61;
/** A change takes hold within so many service times of its stage, but at least and at most so long. */
const SETTLES = 2;
const SETTLE_MS = { start: 3000, least: 1500, most: 15_000 };
/** What is left of a peak after one reading. */
const FADE = 0.98;
/** Share above which the learner or admission sets the pace. */
const BOUND = 0.8;

export const start = (options: Options): State => ({
  options,
  progress: Progress.start(options.setting.mode),
  readings: [],
  trial: null,
  peaks: new Map(),
  memories: new Map(),
  settled: SETTLE_MS.start,
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

const sampleOf = (reading: Reading | undefined, stage: string): StageSample | undefined =>
  reading?.stages.find(({ name }) => name === stage);

const loadBetween = (before: Reading, after: Reading, stage: string): StageLoad.StageLoad | undefined => {
  const sample = sampleOf(after, stage);
  return sample === undefined ? undefined : (StageLoad.of(sampleOf(before, stage) ?? null, sample) ?? undefined);
};

const serviceMs = (readings: readonly Reading[], stage: string): number => {
  const after = sampleOf(readings.at(-1), stage);
  const before = readings.length < 2 ? undefined : sampleOf(readings[0], stage);
  return after === undefined ? 0 : Math.min(SETTLE_MS.most, times(before ?? null, after).serviceMs);
};

/** How long a change of the stage takes to show. */
const settleMs = (readings: readonly Reading[], stage: string): number =>
  Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, SETTLES * serviceMs(readings, stage)));

const blocks = (readings: readonly Reading[], proposal: Proposal): readonly Block[] =>
  readings
    .slice(1)
    .map((reading, i) => blockOf(loadBetween(readings[i]!, reading, proposal.stage), reading.pace, proposal));

const beginTrial = (state: State, proposal: Proposal, now: number): Outcome => {
  const eager = now < state.eagerUntil;
  const recent = state.readings.slice(-1 - (eager ? BASELINE.eager : BASELINE.calm));
  const trial: Trial = {
    proposal,
    before: blocks(recent, proposal),
    after: [],
    eager,
    turnMs: serviceMs(recent, proposal.stage),
  };
  const { from, reason, stage, to } = proposal;
  return {
    state: { ...state, trial, settled: now + settleMs(state.readings, stage) },
    decisions: [set(stage, to, `a trial of ${to} slots, from ${from}: ${reason}`)],
  };
};

const hasShifted = (readings: readonly Reading[]): boolean =>
  (readings.at(-1)?.stages ?? [])
    .filter(({ kind }) => kind === "service")
    .some(({ name }) => {
      const loads = readings.slice(1).map((reading, i) => loadBetween(readings[i]!, reading, name));
      return shifted(rates(loads.filter((load) => load !== undefined)));
    });

/** Without a trial: notices a shift, or begins the next trial once enough is known. */
const watch = (state: State, now: number): Outcome => {
  const { options, readings } = state;
  if (hasShifted(readings)) {
    const afresh = { readings: readings.slice(-1 - BASELINE.eager), memories: new Map(), eagerUntil: now + EAGER_MS };
    return watch({ ...state, ...afresh, nextTrial: now }, now);
  }
  const known = now < state.eagerUntil ? BASELINE.eager : BASELINE.calm;
  const first = readings.at(-1 - known);
  const last = readings.at(-1);
  if (now < state.nextTrial || first === undefined || last === undefined) return nothing(state);
  const { loads, pulls } = Attribution.attribute(first.stages, last.stages, options.setting);
  const bound = pulls.some(
    ({ limit, pull }) => (limit === "update" || limit === "admission" || limit === "validation") && pull > BOUND,
  );
  const knobs = new Map(options.knobs.map((knob) => [knob.stage, knob]));
  const proposal = propose({ loads, pulls, peaks: state.peaks, memories: state.memories, now }, knobs, bound);
  return proposal === null ? nothing(state) : beginTrial(state, proposal, now);
};

const percent = (share: number): string => `${share >= 0 ? "+" : "-"}${Math.abs(100 * share).toFixed(1)} %`;

const endTrial = (state: State, trial: Trial, ended: Exclude<Verdict, { _tag: "Undecided" }>, now: number): Outcome => {
  const { direction, from, stage, to } = trial.proposal;
  const memory = state.memories.get(stage) ?? Memory.empty;
  const nextTrial = now >= state.eagerUntil ? now + CALM_MS : now;
  if (ended._tag === "Pays") {
    // What did not pay for the other stages may pay beside this change.
    const others = [...state.memories].map(([name, other]) => [name, Memory.beside(other)] as const);
    const memories = new Map([...others, [stage, Memory.paid(memory, direction, [from, to], ended.gain, now)]]);
    return nothing({ ...state, trial: null, memories, nextTrial });
  }
  const measured = `${percent(ended.gain)} (+-${(100 * ended.error).toFixed(1)})`;
  return {
    state: {
      ...state,
      trial: null,
      memories: new Map(state.memories).set(stage, Memory.failed(memory, direction, to, ended.gain + ended.error, now)),
      nextTrial,
      settled: now + settleMs(state.readings, stage),
    },
    decisions: [set(stage, from, `back from ${to} slots to ${from}, which did not pay: ${measured}`)],
  };
};

/** Work that a smaller concurrency still lets finish. */
const drains = (trial: Trial, stages: readonly StageSample[]): boolean =>
  stages.some(({ name, running }) => name === trial.proposal.stage && running > trial.proposal.to);

const peaksOf = (before: ReadonlyMap<string, number>, stages: readonly StageSample[]): ReadonlyMap<string, number> =>
  new Map(stages.map(({ name, running }) => [name, Math.max(running, FADE * (before.get(name) ?? 0))]));

/** Takes one reading of the gauges in. */
export const observe = (before: State, observation: Progress.Observation): Outcome => {
  const now = observation.elapsedMs;
  const { pace, progress } = Progress.observe(before.progress, observation);
  const state = { ...before, progress, peaks: peaksOf(before.peaks, observation.stages) };
  if (pace === null) return nothing(state);
  const reading: Reading = { stages: observation.stages, pace };
  const { trial } = state;
  if (trial !== null && drains(trial, observation.stages)) {
    return nothing({ ...state, readings: [reading], settled: now + trial.turnMs });
  }
  if (now < state.settled) return nothing({ ...state, readings: [reading] });
  const readings = [...state.readings, reading].slice(-KEPT);
  const next = { ...state, readings };
  if (trial === null) return watch(next, now);
  const tried = { ...trial, after: blocks(readings, trial.proposal) };
  const ended = verdict(tried);
  return ended._tag === "Undecided" ? nothing({ ...next, trial: tried }) : endTrial(next, tried, ended, now);
};
