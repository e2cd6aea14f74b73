/**
 * Chooses the change of concurrency that is worth making. For the service that holds most calls, it is the number at once that is expected
 * to answer more of them. If services have slots to spare, it is more groups in flight. A pure function of the gauges of an interval and of
 * what was measured before.
 */

import type { Pull } from "../../flow/attribution/Pull.ts";
import type { StageLoad } from "../../flow/attribution/StageLoad.ts";
import * as Curve from "./Curve.ts";
import * as Measure from "./Measure.ts";

/** A stage whose concurrency may be changed, and how far. */
export interface Knob {
  readonly stage: string;
  readonly least: number;
  readonly most: number;
}

export interface Move {
  readonly stage: string;
  readonly from: number;
  readonly to: number;
  /** Share of throughput that it is hoped to gain. */
  readonly gain: number;
  /** The gauges' evidence for the move, in words. */
  readonly reason: string;
}

export interface Evidence {
  readonly loads: readonly StageLoad[];
  readonly pulls: readonly Pull[];
  readonly measures: ReadonlyMap<string, Measure.Measure>;
  /** True while the run is explored: then the knowledge that a change would give counts, and not only its likely gain. */
  readonly eager: boolean;
}

/** One change multiplies by this at most. Beyond dividing by it, a change must be likely to gain, and then divides by this at most. */
const GROWTH = 2;
const SHRINKAGE = 8;
/** Once the run is explored, knowledge counts only within this factor, and only if no more than this share is likely to be lost. */
const NEARBY = 1.21;
const RISK = 0.04;
/** Numbers of slots that are compared are this far apart. */
const APART = 1.07;
/** A service whose calls wait now and then has use for this often the slots in service. */
const ROOMY = 3;
/** A stage whose slots are in use by this share while calls wait is full. */
const FULL = 0.85;
const WAITING = 0.3;
/** Share of all calls in service or waiting that a service holds whose slots set the pace. */
const HOLDS = 0.35;
/** A change must promise this share of throughput. */
const WORTH = { eager: 0.015, calm: 0.01, groups: 0.03, others: 0.02 };
/** A measurement that errs by more says nothing yet; one that errs by less is enough for any change. */
const UNSURE = 0.25;
const SURE = 0.045;
/** The gain that a change promises must be this many times the error of the measurement. */
const OFTEN = 2;

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Numbers from `low` to `high`, all factors alike. */
const between = (low: number, high: number): readonly number[] => {
  const count = Math.max(1, Math.ceil(Math.log(high / low) / Math.log(APART)));
  const numbers = Array.from({ length: count + 1 }, (_, i) => Math.round(low * (high / low) ** (i / count)));
  return [...new Set(numbers)];
};

const isFull = ({ busy, waiting }: StageLoad): boolean => busy > FULL && waiting > WAITING;

/** The gain that a full stage hopes for with so many slots; 0 if they are no choice. */
const hope = (
  curve: Curve.Curve,
  points: readonly Curve.Point[],
  eager: boolean,
  at: number,
  slots: number,
): number => {
  const likely = Curve.gain(curve, at, slots);
  if (likely < (slots < at / GROWTH ? 0 : eager ? -1 : -RISK)) return 0;
  const tried = eager || Math.abs(Math.log(slots / at)) <= Math.log(NEARBY);
  return tried ? Curve.improvement(curve, at, slots, Measure.doubt(points, slots)) : likely;
};

/** The likely gain if a stage is not always full: fewer slots matter to calls that begin above them. */
const relief = (curve: Curve.Curve, measure: Measure.Measure, slots: number): number =>
  Measure.levels(measure).reduce(
    (sum, { level, share }) => sum + (level > slots ? share * Curve.gain(curve, level, slots) : 0),
    0,
  );

/** The best number of slots for a stage by its measure; null if none is better. `full` is true when more slots would be used. */
const ofStage = (load: StageLoad, full: boolean, knob: Knob, evidence: Evidence): Move | "unknown" | null => {
  const { eager, measures } = evidence;
  const { concurrency, name, queue, running } = load;
  const measure = measures.get(name) ?? Measure.empty;
  const points = Measure.points(measure);
  const point = full ? Measure.nearest(points, concurrency) : Measure.surest(points);
  if (point === null || point.error > UNSURE) return "unknown";
  const low = Math.max(knob.least, Math.round(concurrency / SHRINKAGE));
  const high = full ? Math.min(knob.most, Math.round(concurrency * GROWTH)) : concurrency;
  if (low > high) return null;
  const curve = Curve.fit(points);
  let [to, gain] = [concurrency, 0];
  for (const slots of between(low, high)) {
    if (slots === concurrency) continue;
    const promised = full ? hope(curve, points, eager, concurrency, slots) : relief(curve, measure, slots);
    if (promised > gain) [to, gain] = [slots, promised];
  }
  if (to === concurrency || gain < (eager ? WORTH.eager : WORTH.calm)) return null;
  if (point.error > Math.max(SURE, gain / OFTEN)) return "unknown";
  const reason = `${running.toFixed(1)} in service take ${point.serviceMs.toFixed(0)} ms each, ${queue.toFixed(1)} wait`;
  return { stage: name, from: concurrency, to, gain, reason };
};

const itemsIn = ({ queue, running }: StageLoad): number => queue + running;

/** More slots for a service that does not set the pace, but whose calls wait: a few times as many as are in use, where that pays. */
const ofOther = (load: StageLoad, knob: Knob, services: readonly StageLoad[], evidence: Evidence): Move | null => {
  const most = Math.min(knob.most, Math.ceil(ROOMY * load.running));
  if (load.waiting < WAITING || most < NEARBY * load.concurrency) return null;
  const move = ofStage(load, true, { ...knob, most }, evidence);
  if (move === null || move === "unknown" || move.to < move.from) return null;
  const pull = evidence.pulls.find(({ stage }) => stage === load.name)?.pull ?? 0;
  const busiest = services.reduce((most, { busy, name }) => (name === load.name ? most : Math.max(most, busy)), 0.01);
  // No more is gained than the fullest of the others has to spare.
  const [hoped, spare] = [move.gain * pull, 1 / busiest - 1];
  const gain = (hoped * spare) / Math.max(hoped + spare, 1e-9);
  return gain > WORTH.others ? { ...move, gain } : null;
};

/** The gain of the service that holds most calls if it had `times` as many, within its slots. Infinite if it is not known. */
const withMore = (times: number, services: readonly StageLoad[], { measures }: Evidence): number => {
  const [fullest] = services.toSorted((a, b) => itemsIn(b) - itemsIn(a));
  const measure = measures.get(fullest?.name ?? "");
  const points = measure === undefined ? [] : Measure.points(measure);
  if (fullest === undefined || measure === undefined || points.length === 0) return Number.POSITIVE_INFINITY;
  const curve = Curve.fit(points);
  const more = (level: number): number => Math.max(level, Math.min(fullest.concurrency, times * level));
  return Measure.levels(measure).reduce(
    (sum, { level, share }) => sum + share * Curve.gain(curve, level, more(level)),
    0,
  );
};

/** More items at once in a flow stage where they wait and services have slots to spare: groups in flight, and windows being scored. */
const ofFlow = (load: StageLoad, knob: Knob, services: readonly StageLoad[], evidence: Evidence): Move | null => {
  const { concurrency, name, queue, running } = load;
  const pull = evidence.pulls.find(({ limit, stage }) => stage === name && limit === "slots");
  if (pull === undefined || pull.gain === null || pull.pull < WORTH.groups || concurrency >= knob.most) return null;
  const to = Math.min(knob.most, 2 * concurrency);
  const groups = name === "rollout";
  const gain = groups ? Math.min(pull.pull, withMore(to / concurrency, services, evidence)) : pull.pull;
  if (gain < WORTH.groups) return null;
  const items = groups ? "groups in flight" : "windows in work";
  const reason = `${running.toFixed(1)} ${items}, ${queue.toFixed(1)} waiting, and services have slots to spare`;
  return { stage: name, from: concurrency, to, gain, reason };
};

/** The change that promises most: null where none promises anything, "unknown" where that is not known yet. */
export const choose = (evidence: Evidence, knobs: readonly Knob[]): Move | "unknown" | null => {
  const services = evidence.loads.filter(({ kind }) => kind === "service");
  const total = services.reduce((sum, load) => sum + itemsIn(load), 0);
  const moves = evidence.loads.map((load) => {
    const knob = knobs.find(({ stage }) => stage === load.name);
    if (knob === undefined) return null;
    if (load.kind === "flow") return ofFlow(load, knob, services, evidence);
    if (itemsIn(load) > HOLDS * total) return ofStage(load, isFull(load), knob, evidence);
    return ofOther(load, knob, services, evidence);
  });
  return moves.reduce((most, one) => {
    if (one === null || (one === "unknown" && most !== null)) return most;
    return most === null || most === "unknown" || one === "unknown" || one.gain > most.gain ? one : most;
  }, null);
};

export const describe = ({ from, gain, reason, stage, to }: Move): string =>
  `${stage} from ${from} to ${to}: ${reason}; up to ${percent(gain)} more is expected`;
