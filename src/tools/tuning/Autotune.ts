/**
 * The autotuner as a state machine without fibers, clocks or clients: it takes the gauges in, about once a second, and decides on changes of
 * concurrency by what it has measured of each stage's service times. It starts all stages with few calls at once, and grows one stage at a time
 * while that pays. A service that has become slower starts anew. Invariant: once explored, there are at most three changes in three minutes, until a
 * service is seen to have changed.
 */
import type { Control } from "../../domain/Control.ts";
import * as Attribution from "../../flow/attribution/Attribution.ts";
import * as CallTimes from "../../flow/CallTimes.ts";
import type { StageSample } from "../../flow/Gauge.ts";
import * as Measure from "./Measure.ts";
import * as Move from "./Move.ts";
import * as Progress from "./Progress.ts";

export type { Knob } from "./Move.ts";
export type { Observation } from "./Progress.ts";

export interface Options {
  /** The stages that it may change. */
  readonly knobs: readonly Move.Knob[];
  readonly setting: Attribution.RunLimits;
}

export interface Decision {
  readonly control: Extract<Control, { readonly _tag: "SetConcurrency" }>;
  readonly reason: string;
}

/** A stage that has less at once than before, until what it must give back is gone. */
interface Draining {
  readonly stage: string;
  readonly to: number;
  /** Milliseconds of a call. */
  readonly residue: number;
}

export interface State {
  readonly options: Options;
  /** The newest reading that a block ended at; null before the first. */
  readonly seen: Progress.Observation | null;
  /** Ends of the newest blocks under the present settings, the oldest first. */
  readonly readings: readonly Progress.Observation[];
  readonly measures: ReadonlyMap<string, Measure.Measure>;
  /** The stages that were changed last. */
  readonly draining: readonly Draining[];
  /** Blocks before this time still show the last change taking hold. */
  readonly settled: number;
  /** When the run began to be explored; null once it is. */
  readonly exploring: number | null;
  /** The time since which nothing was found worth a change, once the run is explored. */
  readonly quiet: number;
  /** The newest times at which settings changed, once the run is explored. */
  readonly changed: readonly number[];
}

/** Calls at once that a service starts with, and groups in flight, at most. */
const FEW = 8;
/** A run is explored when nothing was worth a change for so long, or after so long. */
const QUIET_MS = 8000;
const EXPLORES_MS = 60_000;
/**
 * Once explored, a run has at most so many changes in this time, each given so long to show its worth, and so many blocks between two
 * looks.
 */
const CALM = { changes: 3, ms: 180_000, looks: 20_000, blocks: 5 };
/** A change takes hold within so many service times of its stage, but at least and at most so long. */
const SETTLES = 2;
const SETTLE_MS = { start: 2000, least: 1500, most: 10_000 };
/** Blocks that are looked at for what waits where. */
const BLOCKS = { fewest: 2, least: 5, most: 12 };
/** A change that promises this share is made after the fewest blocks. */
const PLAIN = 0.5;
/** Share above which the learner or admission sets the pace. */
const BOUND = 0.8;

export const start = (options: Options): State => ({
  options,
  seen: null,
  readings: [],
  measures: new Map(),
  draining: [],
  settled: SETTLE_MS.start,
  exploring: 0,
  quiet: 0,
  changed: [],
});

export interface Outcome {
  readonly state: State;
  readonly decisions: readonly Decision[];
}

const nothing = (state: State): Outcome => ({ state, decisions: [] });

const decision = (stage: string, concurrency: number, reason: string): Decision => ({
  control: { _tag: "SetConcurrency", stage, concurrency },
  reason,
});

/** Services, and the groups in flight, of some stages that may have more at once begin with few. */
const withFew = ({ knobs }: Options, stages: readonly StageSample[], why: (name: string) => string) =>
  stages.flatMap(({ concurrency, kind, name }) => {
    const knob = knobs.find(({ stage }) => stage === name);
    const to = Math.max(FEW, knob?.least ?? FEW);
    const begins = kind === "service" || name === "rollout";
    if (!begins || knob === undefined || to >= concurrency) return [];
    return [decision(name, to, `${name} from ${concurrency} to ${to}: ${why(name)}`)];
  });

/** The first reading: services begin with few calls at once. */
const begin = (state: State, { elapsedMs, stages }: Progress.Observation): Outcome => ({
  state: { ...state, seen: { elapsedMs, stages }, exploring: elapsedMs, quiet: elapsedMs },
  decisions: withFew(state.options, stages, () => "it begins with few and grows while that pays"),
});

const clamp = (ms: number): number => Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, ms));

const serviceMs = ({ measures }: State, stage: string): number => {
  const measure = measures.get(stage) ?? Measure.empty;
  return Measure.nearest(Measure.points(measure), Measure.level(measure))?.serviceMs ?? 0;
};

const longest = (draining: readonly Draining[]): number => Math.max(0, ...draining.map(({ residue }) => residue));

const apply = (state: State, move: Move.Move, now: number): Outcome => {
  const { from, stage, to } = move;
  const residue = serviceMs(state, stage);
  return {
    state: {
      ...state,
      readings: [],
      draining: to < from ? [{ stage, to, residue }] : [],
      settled: now + clamp(SETTLES * residue),
      changed: state.exploring === null ? [...state.changed, now].slice(-CALM.changes) : [],
      quiet: now,
    },
    decisions: [decision(stage, to, Move.describe(move))],
  };
};

/**
 * If services have changed, forgets what was measured of them and explores the run anew. The slower ones begin with few calls. Null if none
 * has changed.
 */
const exploreAfterShift = (state: State, now: number): Outcome | null => {
  const factors = new Map([...state.measures].map(([name, measure]) => [name, Measure.shifted(measure)]));
  const factorOf = (name: string): number => factors.get(name) ?? 1;
  if ([...factors.values()].every((factor) => factor === 1)) return null;
  const measures = new Map(
    [...state.measures].map(([name, measure]) => [name, factorOf(name) === 1 ? measure : Measure.afresh(measure)]),
  );
  const slower = state.readings.at(-1)?.stages.filter(({ name }) => factorOf(name) > 1) ?? [];
  const decisions = withFew(
    state.options,
    slower,
    (name) => `its calls take ${factorOf(name).toFixed(1)} times as long as before`,
  );
  const explored: State = { ...state, measures, exploring: now, quiet: now };
  if (decisions.length === 0) return nothing({ ...explored, readings: state.readings.slice(-1 - BLOCKS.least) });
  const draining = decisions.map(({ control: { concurrency: to, stage } }) => ({
    stage,
    to,
    residue: serviceMs(explored, stage),
  }));
  return { state: { ...explored, readings: [], draining, settled: now + clamp(longest(draining)) }, decisions };
};

/** True when a change is due in a run that is explored. */
const rested = ({ changed, quiet }: State, now: number): boolean => {
  const recent = changed.filter((at) => now - at < CALM.ms);
  if (Math.floor(now / 1000) % CALM.blocks !== 0) return false;
  return recent.length < CALM.changes && (recent.length === 0 || now - quiet > CALM.looks);
};

const isExplored = ({ exploring, quiet }: State, now: number): boolean =>
  exploring === null || now - exploring >= EXPLORES_MS || now - quiet >= QUIET_MS;

/** Looks for a change once enough is known. */
const watch = (before: State, now: number): Outcome => {
  const shifted = exploreAfterShift(before, now);
  if (shifted !== null) return shifted;
  const state = isExplored(before, now) ? { ...before, exploring: null } : before;
  const { exploring, measures, options, readings } = state;
  const eager = exploring !== null;
  if (readings.length <= BLOCKS.fewest || (!eager && !rested(state, now))) return nothing(state);
  const [first, last] = [readings.at(-1 - BLOCKS.most) ?? readings[0]!, readings.at(-1)!];
  const { loads, pulls } = Attribution.attribute(first.stages, last.stages, options.setting);
  const bound = pulls.some(
    ({ limit, pull }) => (limit === "update" || limit === "admission" || limit === "validation") && pull > BOUND,
  );
  const move = bound ? null : Move.choose({ loads, pulls, eager, measures }, options.knobs);
  if (move === null) return nothing(state);
  if (move === "unknown" || (readings.length <= BLOCKS.least && move.gain < PLAIN)) {
    return nothing({ ...state, quiet: now });
  }
  return apply(state, move, now);
};

const withMeasures = (
  before: ReadonlyMap<string, Measure.Measure>,
  from: Progress.Observation,
  to: Progress.Observation,
): ReadonlyMap<string, Measure.Measure> => {
  const measures = new Map(before);
  for (const { calls, name } of to.stages) {
    if (calls.length === 0) continue;
    const earlier = from.stages.find((stage) => stage.name === name)?.calls ?? [];
    measures.set(name, Measure.add(measures.get(name) ?? Measure.empty, CallTimes.callsBetween(earlier, calls)));
  }
  return measures;
};

const drains = ({ draining }: State, stages: readonly StageSample[]): boolean =>
  draining.some(({ stage, to }) => stages.some(({ name, running }) => name === stage && running > to));

/** Takes a reading in while something else is tried: nothing is measured and nothing changed. */
export const hold = (state: State, { elapsedMs, stages }: Progress.Observation): Outcome =>
  nothing({ ...state, seen: { elapsedMs, stages }, readings: [] });

/** Takes one reading of the gauges in. */
export const observe = (before: State, observation: Progress.Observation): Outcome => {
  const { seen } = before;
  if (seen === null) return begin(before, observation);
  const ends = Progress.ends(seen, observation);
  if (ends === null) return nothing(before);
  const now = observation.elapsedMs;
  const state: State = { ...before, seen: observation };
  if (ends === "closing") return nothing({ ...state, readings: [observation] });
  const measures = withMeasures(state.measures, seen, observation);
  if (drains(state, observation.stages)) {
    const settled = now + clamp(longest(state.draining));
    return nothing({ ...state, measures, readings: [], settled });
  }
  if (now < state.settled) return nothing({ ...state, measures, readings: [observation] });
  const readings = [...state.readings, observation].slice(-1 - BLOCKS.most);
  return watch({ ...state, measures, draining: [], readings }, now);
};
