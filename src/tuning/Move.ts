/**
 * Which change of concurrency is worth making: of the service that holds most calls, the number at once that is expected to answer more of them;
 * where services have slots to spare, more groups in flight. A pure function of the gauges of an interval and of what was measured before.
 */
import * as Curve from "./Curve.ts";
import * as Measure from "./Measure.ts";
import type { Pull } from "./Pull.ts";
import type { StageLoad } from "./StageLoad.ts";

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
  /** What the gauges show that speaks for it. */
  readonly reason: string;
}

export interface Evidence {
  readonly loads: readonly StageLoad[];
  readonly pulls: readonly Pull[];
  readonly measures: ReadonlyMap<string, Measure.Measure>;
  readonly now: number;
  /** While the run is explored, what would be learnt by a change counts, and not only what is likely. */
  readonly eager: boolean;
}

/** One change multiplies or divides by this at most; and by this once the run is explored. */
const GROWTH = 2;
const SHRINKAGE = 8;
const NEARBY = 1.2;
/** Numbers of slots that are compared are this far apart. */
const APART = 1.07;
/** A stage whose slots are in use by this share while calls wait is full. */
const FULL = 0.85;
const WAITING = 0.3;
/** Share of all calls in service or waiting that a service holds whose slots are worth changing. */
const HOLDS = 0.35;
/** A change must promise this share of throughput. */
const WORTH = { eager: 0.015, calm: 0.01 };
/** More groups in flight must promise this share of throughput. */
const GROUPS = 0.03;
/** A measurement that errs by more says nothing yet; one that errs by less is enough for any change. */
const UNSURE = 0.25;
const SURE = 0.045;
/** What a change promises must be this often the error of the measurement. */
const OFTEN = 2;
/** So many service times after a change, the calls that began before it are gone. */
const TURNS = 1.5;
/** A flow stage whose pull is below this has what it needs. */
const PULLS = 0.3;

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Numbers from `low` to `high`, all factors alike. */
const between = (low: number, high: number): readonly number[] => {
  const count = Math.max(1, Math.ceil(Math.log(high / low) / Math.log(APART)));
  const numbers = Array.from({ length: count + 1 }, (_, i) => Math.round(low * (high / low) ** (i / count)));
  return [...new Set(numbers)];
};

const isFull = ({ busy, waiting }: StageLoad): boolean => busy > FULL && waiting > WAITING;

/** The best number of slots for a stage by what was measured of it; null where none is better. */
const ofStage = (load: StageLoad, knob: Knob, { eager, measures, now }: Evidence): Move | "unknown" | null => {
  const measure = measures.get(load.name) ?? Measure.empty;
  const point = Measure.present(measure, now);
  if (point === null || point.error > UNSURE || now - measure.since < TURNS * point.serviceMs) return "unknown";
  const { concurrency, name, running } = load;
  const full = isFull(load);
  // Slots that stay empty crowd nobody: what counts are those in use.
  const at = full ? concurrency : Math.min(concurrency, point.level);
  const low = Math.max(knob.least, Math.round(at / (eager ? SHRINKAGE : NEARBY)));
  const high = full ? Math.min(knob.most, Math.round(at * (eager ? GROWTH : NEARBY))) : Math.floor(at);
  if (low > high) return null;
  const curve = Curve.of(Measure.pointsOf(measure, now));
  let [to, gain] = [concurrency, 0];
  for (const slots of between(low, high)) {
    if (slots === concurrency) continue;
    const promised = Curve.improvement(curve, at, slots);
    if (!eager && Curve.gain(curve, at, slots) < 0) continue;
    if (promised > gain) [to, gain] = [slots, promised];
  }
  if (to === concurrency || gain < (eager ? WORTH.eager : WORTH.calm)) return null;
  if (point.error > Math.max(SURE, gain / OFTEN)) return "unknown";
  const reason = `${running.toFixed(1)} in service take ${point.serviceMs.toFixed(0)} ms each, ${load.queue.toFixed(1)} wait`;
  return { stage: name, from: concurrency, to, gain, reason };
};

/** Services that hold most calls, and flow stages that items wait for. */
const candidates = ({ loads, pulls }: Evidence): readonly StageLoad[] => {
  const held = ({ queue, running }: StageLoad): number => queue + running;
  const total = loads.reduce((sum, load) => sum + (load.kind === "service" ? held(load) : 0), 0);
  const pullOf = (name: string): number => pulls.find(({ stage }) => stage === name)?.pull ?? 0;
  return loads.filter((load) =>
    load.kind === "service"
      ? total > 0 && held(load) > HOLDS * total
      : load.name !== "rollout" && pullOf(load.name) > PULLS,
  );
};

/** More groups in flight, where they wait and services have slots to spare. */
const groups = ({ loads, pulls }: Evidence, knob: Knob | undefined): Move | null => {
  const load = loads.find(({ name }) => name === "rollout");
  const pull = pulls.find(({ limit, stage }) => stage === "rollout" && limit === "slots");
  if (knob === undefined || load === undefined || pull === undefined || pull.gain === null) return null;
  const { concurrency, queue, running } = load;
  const gain = pull.pull;
  if (gain < GROUPS || concurrency >= knob.most) return null;
  const to = Math.min(knob.most, 2 * concurrency);
  const reason = `${running.toFixed(1)} groups in flight, ${queue.toFixed(1)} waiting, and services have slots to spare`;
  return { stage: "rollout", from: concurrency, to, gain, reason };
};

/** The change that promises most: null where none promises anything, "unknown" where that is not known yet. */
export const best = (evidence: Evidence, knobs: readonly Knob[]): Move | "unknown" | null => {
  const knobOf = (stage: string): Knob | undefined => knobs.find((knob) => knob.stage === stage);
  const moves = candidates(evidence).map((load) => {
    const knob = knobOf(load.name);
    return knob === undefined ? null : ofStage(load, knob, evidence);
  });
  return [groups(evidence, knobOf("rollout")), ...moves].reduce((most, one) => {
    if (one === null || (one === "unknown" && most !== null)) return most;
    return most === null || most === "unknown" || one === "unknown" || one.gain > most.gain ? one : most;
  }, null);
};

/** What a move says of itself. */
export const words = ({ from, gain, reason, stage, to }: Move): string =>
  `${stage} from ${from} to ${to}: ${reason}; up to ${percent(gain)} more is expected`;
