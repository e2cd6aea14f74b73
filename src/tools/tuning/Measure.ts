/**
 * Measures how long a stage's calls take at each level of calls in service. A call counts for the level at which it began, whatever was set
 * since, and newer calls weigh more. Calls under way are missing, the long ones first: that is part of a point's error.
 */
import type { LevelBand } from "../../flow/CallTimes.ts";
import * as Curve from "./Curve.ts";

/** Sums of one band, in which older calls count for less. `open` counts the calls begun that have not ended. */
interface Sums extends LevelBand {
  readonly open: number;
}

type Bands = ReadonlyMap<number, Sums>;
type Block = readonly LevelBand[];

export interface Measure {
  /** All but the newest blocks. */
  readonly past: Bands;
  /** The newest blocks, the oldest first. */
  readonly recent: readonly Block[];
}

export const empty: Measure = { past: new Map(), recent: [] };

/** Blocks that show whether the service has changed. */
const RECENT = 6;
/** A block counts for half after so many others. */
const HALF_LIFE = 300;
/** Neighbouring bands are one point until it has so many calls, or is so wide. */
const ENOUGH = 40;
const WIDE = 1.25;
/** Fewer calls tell nothing. */
const FEWEST = 3;
/** Least error of a point. */
const LEAST = 0.015;
/** Error of the time of one call: a square root's coefficient of variation, twice; 1.05 of exponential times, 1.15 of Pareto's with α = 1.5. */
const SCATTER = 1.2;
/** Calls under way add to the error this part of their share of the ended ones. */
const OPEN = 0.5;
/** A level is measured if a point is that near. */
const NEAR = 1.12;
/** A point that errs by less is sure. */
const SURE = 0.06;
/** Doubt about any curve: standard deviation of the time's logarithm, per logarithm of the distance from a sure point. */
const DOUBT = 0.4;
/** A service has changed when its times differ from what is expected by this logarithm, and by so many errors. */
const SHIFT = 0.5;
const ERRORS = 5;
/** Calls of a band that began and ended lately are in balance within this share: otherwise the short or the long ones are missing. */
const BALANCE = 0.5;
const FEW = 8;

const none = (band: number): Sums => ({ band, begun: 0, served: 0, levels: 0, roots: 0, open: 0 });

const plus = (sums: Sums, { begun, levels, roots, served }: LevelBand): Sums => ({
  band: sums.band,
  begun: sums.begun + begun,
  served: sums.served + served,
  levels: sums.levels + levels,
  roots: sums.roots + roots,
  open: Math.max(0, sums.open + begun - served),
});

const aged = ({ band, begun, levels, open, roots, served }: Sums): Sums => {
  const decay = 0.5 ** (1 / HALF_LIFE);
  return { band, begun: decay * begun, served: decay * served, levels: decay * levels, roots: decay * roots, open };
};

const merged = (past: Bands, blocks: readonly Block[]): Bands => {
  const all = new Map(past);
  for (const band of blocks.flat()) all.set(band.band, plus(all.get(band.band) ?? none(band.band), band));
  return all;
};

const levelOf = ({ levels, served }: Sums): number => levels / served;

/** Neighbouring bands together, until each has enough calls. */
const pooled = (bands: Bands): readonly Sums[] => {
  const pools: Sums[] = [];
  let from = 0;
  for (const sums of [...bands.values()].filter(({ served }) => served > 0).sort((a, b) => a.band - b.band)) {
    const last = pools.at(-1);
    if (last !== undefined && last.served < ENOUGH && levelOf(sums) < WIDE * from) {
      pools[pools.length - 1] = { ...plus(last, sums), open: last.open + sums.open };
    } else {
      from = levelOf(sums);
      pools.push(sums);
    }
  }
  return pools;
};

const pointOf = (sums: Sums): Curve.Point => ({
  level: levelOf(sums),
  serviceMs: (sums.roots / sums.served) ** 2,
  error: Math.hypot(LEAST, SCATTER / Math.sqrt(sums.served), (OPEN * sums.open) / sums.served),
});

const pointsIn = (bands: Bands): readonly Curve.Point[] =>
  pooled(bands)
    .filter(({ served }) => served >= FEWEST)
    .map(pointOf);

/** Takes the calls of one block in. */
export const add = ({ past, recent }: Measure, block: Block): Measure => {
  const blocks = [...recent, block];
  const older = new Map([...past].map(([band, sums]) => [band, aged(sums)]));
  return { past: merged(older, blocks.slice(0, -RECENT)), recent: blocks.slice(-RECENT) };
};

/** All levels that were measured, the lowest first. */
export const points = ({ past, recent }: Measure): readonly Curve.Point[] => pointsIn(merged(past, recent));

const distance = (point: Curve.Point, level: number): number => Math.abs(Math.log(point.level / level));

const surer = (one: Curve.Point | null, other: Curve.Point): Curve.Point =>
  one === null || other.error < one.error ? other : one;

/** The surest point of all; null without any. */
export const surest = (candidates: readonly Curve.Point[]): Curve.Point | null => candidates.reduce(surer, null);

/** The surest point near a level; null where it was not measured. */
export const nearest = (candidates: readonly Curve.Point[], level: number): Curve.Point | null =>
  surest(candidates.filter((point) => distance(point, level) < Math.log(NEAR)));

/** Standard deviation of the logarithm of the time at a level, around a curve through the points. */
export const doubt = (all: readonly Curve.Point[], level: number): number => {
  const near = all.filter(({ error }) => error < SURE).map((point) => distance(point, level));
  return DOUBT * Math.min(1, ...near);
};

/** Levels at which the newest calls began, with the share of the calls. */
export const levels = ({ recent }: Measure): readonly { readonly level: number; readonly share: number }[] => {
  const pools = pooled(merged(new Map(), recent));
  const all = pools.reduce((sum, { served }) => sum + served, 0);
  return pools.map((sums) => ({ level: levelOf(sums), share: sums.served / all }));
};

/** Mean level at which the newest calls began; 0 without any. */
export const level = (measure: Measure): number =>
  levels(measure).reduce((sum, { level, share }) => sum + level * share, 0);

/** True when calls take much the same as at the nearest levels that were measured: that spares the fit. */
const isAsNear = (newest: readonly Sums[], pastPoints: readonly Curve.Point[]): boolean => {
  let [roots, expected] = [0, 0];
  for (const sums of newest) {
    const near = pastPoints.reduce((a, b) => (distance(b, levelOf(sums)) < distance(a, levelOf(sums)) ? b : a));
    roots += sums.roots;
    expected += sums.served * Math.sqrt(near.serviceMs);
  }
  return Math.abs(2 * Math.log(roots / expected)) < SHIFT / 2;
};

/** The factor by which the newest calls took longer than the older ones let expect; 1 if they do not differ for certain. */
export const shifted = ({ past, recent }: Measure): number => {
  const balanced = ({ begun, served }: Sums): boolean =>
    served > 0 && Math.abs(begun - served) <= BALANCE * Math.max(FEW, served);
  const newest = [...merged(new Map(), recent).values()].filter(balanced);
  const count = newest.reduce((sum, { served }) => sum + served, 0);
  const pastPoints = pointsIn(past);
  if (count < FEWEST || pastPoints.length === 0 || isAsNear(newest, pastPoints)) return 1;
  const curve = Curve.fit(pastPoints);
  let [roots, expected, error] = [0, 0, 0];
  for (const sums of newest) {
    const expectation = Curve.expected(curve, levelOf(sums));
    const share = sums.served * Math.exp(expectation.mean / 2);
    roots += sums.roots;
    expected += share;
    error += share * Math.hypot(expectation.error, doubt(pastPoints, levelOf(sums)));
  }
  const certain = Math.max(SHIFT, ERRORS * Math.hypot(error / expected, SCATTER / Math.sqrt(count)));
  return Math.abs(2 * Math.log(roots / expected)) > certain ? (roots / expected) ** 2 : 1;
};

/** Forgets what was measured before the newest block. */
export const afresh = ({ recent }: Measure): Measure => ({ past: new Map(), recent: recent.slice(-1) });
