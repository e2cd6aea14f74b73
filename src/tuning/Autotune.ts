/**
 * The autotuner as a state machine without fibers, clocks or clients: it takes the gauges in, about once a second, and decides on changes of
 * concurrency, one at a time, by what it has measured of each stage's service times.
 * Invariants: nothing is judged before a change has taken hold; once explored, changes are further apart than a minute, until a service is seen
 * to have changed under unchanged settings.
 */
import type { Control } from "../domain/Control.ts";
import type { StageSample } from "../stage/Gauge.ts";
import * as Attribution from "./Attribution.ts";
import * as Curve from "./Curve.ts";
import * as Measure from "./Measure.ts";
import * as Move from "./Move.ts";
import * as Progress from "./Progress.ts";
import * as StageLoad from "./StageLoad.ts";

export type { Knob } from "./Move.ts";
export type { Observation } from "./Progress.ts";

export interface Options {
  /** The stages that it may change. */
  readonly knobs: readonly Move.Knob[];
  readonly setting: Attribution.Setting;
}

export interface Decision {
  readonly control: Extract<Control, { readonly _tag: "SetConcurrency" }>;
  readonly reason: string;
}

export interface State {
  readonly options: Options;
  /** Ends of the newest blocks under the present settings, the oldest first. */
  readonly readings: readonly Progress.Observation[];
  readonly measures: ReadonlyMap<string, Measure.Measure>;
  /** The stage that was changed last, until what it must give back is gone. */
  readonly draining: { readonly stage: string; readonly to: number; readonly residue: number } | null;
  /** Blocks before this time still show the last change taking hold. */
  readonly settled: number;
  readonly eager: boolean;
  /** Since when nothing was found worth a change, while the run is explored. */
  readonly quiet: number;
  /** When the settings were changed, the newest times. */
  readonly changed: readonly number[];
}

/** Once the run is explored, no more than two changes, there and back, in this time; and one that long after it was explored. */
const CALM_MS = 200_000;
const REST_MS = 60_000;
/** What a change is given to show its worth then. */
const LOOK_MS = 20_000;
/** Blocks between two looks for a change, then. */
const CALM_LOOKS = 10;
/** A run is explored when nothing was worth a change for this long. */
const QUIET_MS = 8000;
/** A change takes hold within so many service times of its stage, but at least and at most so long. */
const SETTLES = 2;
const SETTLE_MS = { start: 2000, least: 1500, most: 10_000 };
/** Blocks that are looked at for what waits where. */
const BLOCKS = { fewest: 2, least: 5, most: 12 };
/** A change that promises this share is made after the fewest blocks. */
const PLAIN = 1.5;
/** A service has changed when its times differ from what is expected by this factor's logarithm, and by so many errors. */
const SHIFT = 0.6;
const ERRORS = 5;
/** Share above which the learner or admission sets the pace. */
const BOUND = 0.8;

export const start = (options: Options): State => ({
  options,
  readings: [],
  measures: new Map(),
  draining: null,
  settled: SETTLE_MS.start,
  eager: true,
  quiet: 0,
  changed: [],
});

export interface Outcome {
  readonly state: State;
  readonly decisions: readonly Decision[];
}

const nothing = (state: State): Outcome => ({ state, decisions: [] });

const clamp = (ms: number): number => Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, ms));

const apply = (state: State, move: Move.Move, now: number): Outcome => {
  const { stage, to } = move;
  const serviceMs = Measure.present(state.measures.get(stage) ?? Measure.empty, now)?.serviceMs ?? 0;
  const fewer = to < move.from;
  const measures = new Map(
    [...state.measures].map(([name, measure]) => [
      name,
      name === stage ? Measure.ended(measure, now, fewer ? serviceMs : 0) : measure,
    ]),
  );
  return {
    state: {
      ...state,
      measures,
      readings: [],
      draining: fewer ? { stage, to, residue: serviceMs } : null,
      settled: now + clamp(SETTLES * serviceMs),
      changed: [...state.changed, now].slice(-2),
      quiet: now,
    },
    decisions: [{ control: { _tag: "SetConcurrency", stage, concurrency: to }, reason: Move.words(move) }],
  };
};

/** Whether the hold's earlier blocks show much the same; that spares the fit. */
const asBefore = (older: Measure.Measure, newest: Curve.Point, now: number): boolean => {
  const before = Measure.present(older, now);
  const far = (of: "level" | "serviceMs"): number =>
    before === null ? Number.POSITIVE_INFINITY : Math.abs(Math.log(newest[of] / before[of]));
  return far("level") < SHIFT / 2 && far("serviceMs") < SHIFT / 2;
};

/** Stages whose newest blocks are far from what was measured of them before, at the present level. */
const shifted = ({ measures }: State, now: number): readonly string[] =>
  [...measures].flatMap(([stage, measure]) => {
    const older = { ...measure, hold: measure.hold.slice(0, -Measure.NEWEST) };
    const newest = Measure.pointOf(measure.hold.slice(-Measure.NEWEST));
    if (newest === null || measure.hold.length < Measure.NEWEST || asBefore(older, newest, now)) return [];
    const known = Measure.pointsOf(older, now);
    if (known.length === 0) return [];
    const { error, mean } = Curve.expected(Curve.of(known), newest.level);
    const difference = Math.abs(Math.log(newest.serviceMs) - mean);
    return difference > Math.max(SHIFT, ERRORS * Math.hypot(error, newest.error)) ? [stage] : [];
  });

const withoutShifted = (state: State, now: number): State => {
  const stages = shifted(state, now);
  if (stages.length === 0) return state;
  const measures = new Map(
    [...state.measures].map(([name, measure]) => [name, stages.includes(name) ? Measure.afresh(measure) : measure]),
  );
  return { ...state, measures, eager: true, quiet: now, readings: state.readings.slice(-1 - BLOCKS.least) };
};

/** Whether a change is due once the run is explored. */
const rested = ({ changed, quiet }: State, now: number): boolean => {
  const recent = changed.filter((at) => now - at < CALM_MS);
  return recent.length < 2 && now - quiet > (recent.length === 0 ? REST_MS : LOOK_MS);
};

/** Looks for a change once enough is known. */
const watch = (before: State, now: number): Outcome => {
  const state = withoutShifted(before, now);
  const { eager, options, readings } = state;
  if (readings.length <= BLOCKS.fewest) return nothing(state);
  if (!eager && (!rested(state, now) || Math.floor(now / 1000) % CALM_LOOKS !== 0)) return nothing(state);
  const [first, last] = [readings.at(-1 - BLOCKS.most) ?? readings[0]!, readings.at(-1)!];
  const { loads, pulls } = Attribution.attribute(first.stages, last.stages, options.setting);
  const bound = pulls.some(
    ({ limit, pull }) => (limit === "update" || limit === "admission" || limit === "validation") && pull > BOUND,
  );
  const move = bound ? null : Move.best({ loads, pulls, eager, measures: state.measures, now }, options.knobs);
  if (move === null) return nothing({ ...state, eager: eager && now - state.quiet < QUIET_MS });
  if (move === "unknown" || (readings.length <= BLOCKS.least && move.gain < PLAIN)) {
    return nothing({ ...state, quiet: now });
  }
  return apply(state, move, now);
};

const measured = (
  before: ReadonlyMap<string, Measure.Measure>,
  from: Progress.Observation,
  to: Progress.Observation,
): ReadonlyMap<string, Measure.Measure> => {
  const ms = to.elapsedMs - from.elapsedMs;
  const measures = new Map(before);
  for (const sample of to.stages) {
    if (sample.kind === "flow" && sample.name !== "score") continue;
    const load = StageLoad.of(from.stages.find(({ name }) => name === sample.name) ?? null, sample);
    if (load === null) continue;
    const block = Measure.blockOf(load, to.elapsedMs, ms);
    measures.set(sample.name, Measure.add(measures.get(sample.name) ?? Measure.empty, block));
  }
  return measures;
};

const drains = ({ draining }: State, stages: readonly StageSample[]): boolean =>
  draining !== null && stages.some(({ name, running }) => name === draining.stage && running > draining.to);

/** Takes one reading of the gauges in. */
export const observe = (state: State, observation: Progress.Observation): Outcome => {
  const now = observation.elapsedMs;
  if (drains(state, observation.stages)) {
    const { residue, stage } = state.draining!;
    const measure = state.measures.get(stage) ?? Measure.empty;
    const measures = new Map(state.measures).set(stage, Measure.draining(measure, now));
    return nothing({ ...state, measures, readings: [], settled: now + clamp(residue) });
  }
  if (now < state.settled) return nothing({ ...state, readings: [observation] });
  const last = state.readings.at(-1);
  if (last === undefined) return nothing({ ...state, draining: null, readings: [observation] });
  const ends = Progress.ends(last, observation);
  if (ends === null) return nothing(state);
  if (ends === "closing") return nothing({ ...state, readings: [observation] });
  const measures = measured(state.measures, last, observation);
  return watch({ ...state, measures, readings: [...state.readings, observation].slice(-61) }, now);
};
