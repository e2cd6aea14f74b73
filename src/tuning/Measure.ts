/**
 * How long a stage's calls take under one setting, block by block, and where that was measured before. Calls that began under the setting before
 * still end after a change: the newest part of a hold is what counts, and what is left of them adds to its error.
 */
import type { Point } from "./Curve.ts";
import type { StageLoad } from "./StageLoad.ts";

/** What a stage did in a block. */
export interface Block {
  readonly at: number;
  readonly running: number;
  readonly busyMs: number;
  readonly items: number;
}

export interface Measure {
  /** Blocks under the present setting. */
  readonly hold: readonly Block[];
  /** When the setting was made, and the mean time of calls before. */
  readonly since: number;
  readonly residue: number;
  /** Points of earlier settings, with the time they were measured. */
  readonly points: readonly (Point & { readonly at: number })[];
}

export const empty: Measure = { hold: [], since: 0, residue: 0, points: [] };

const KEPT = 90;
/** The newer half of a hold counts for so many service times of the setting before, and of its own. */
const EARLY = 8;
const TURNED = 6;
const POINTS = 24;
/** Least error of a point, what a minute adds, and how calls scatter compared with a Poisson process. */
const LEAST = 0.02;
const AGING = 0.01;
const SCATTER = { unknown: 2, least: 1, most: 8, blocks: 8 };
/** Levels further apart than this do not belong to one hold. */
const MOVED = 1.35;
/** Newest blocks that show whether the level has moved, or the service changed. */
export const NEWEST = 6;

export const blockOf = (load: StageLoad, at: number, ms: number): Block => ({
  at,
  running: load.running,
  busyMs: load.running * ms,
  items: load.items,
});

const total = (blocks: readonly Block[], of: (block: Block) => number): number =>
  blocks.reduce((sum, block) => sum + of(block), 0);

/** Calls in service while there are any. */
const levelOf = (blocks: readonly Block[]): number => {
  const busy = total(blocks, ({ busyMs }) => busyMs);
  return busy > 0 ? Math.max(1, total(blocks, ({ busyMs, running }) => busyMs * running) / busy) : 0;
};

/** Variance of the blocks' calls over what a Poisson process would have. */
const scatterOf = (blocks: readonly Block[], serviceMs: number): number => {
  const { blocks: least, unknown } = SCATTER;
  if (blocks.length < least) return unknown;
  const squares = total(
    blocks,
    ({ busyMs, items }) => (items - busyMs / serviceMs) ** 2 / Math.max(1, busyMs / serviceMs),
  );
  return Math.min(SCATTER.most, Math.max(SCATTER.least, squares / (blocks.length - 1)));
};

/** Of some blocks; null where nothing was in service. Calls under way count, though few may have ended. */
export const pointOf = (blocks: readonly Block[]): Point | null => {
  const busy = total(blocks, ({ busyMs }) => busyMs);
  if (busy <= 0) return null;
  const items = total(blocks, (block) => block.items) + 0.5;
  const serviceMs = busy / items;
  const error = Math.hypot(LEAST, Math.sqrt(scatterOf(blocks, serviceMs) / items));
  return { level: levelOf(blocks), serviceMs, error };
};

/** Share of calls in service that began before the setting. */
const left = ({ residue, since }: Measure, at: number): number =>
  residue <= 0 ? 0 : Math.exp(-Math.max(0, at - since) / residue);

/** Blocks of a hold that show its setting: the newer half while earlier calls may be left, and later all at about the present level. */
const shown = ({ hold, residue, since }: Measure, now: number): readonly Block[] => {
  const half = hold.slice(Math.floor(hold.length / 2));
  const serviceMs = pointOf(half)?.serviceMs ?? 0;
  const young = now - since < Math.max(EARLY * residue, TURNED * serviceMs);
  const level = levelOf(hold.slice(-NEWEST));
  return (young ? half : hold).filter(
    ({ running }) => running > 0 && Math.abs(Math.log(running / level)) < Math.log(MOVED),
  );
};

/** The present setting's point. */
export const present = (measure: Measure, now: number): Point | null => {
  const used = shown(measure, now);
  const point = pointOf(used);
  if (point === null) return null;
  const old = total(used, ({ at }) => left(measure, at)) / used.length;
  return { ...point, error: Math.hypot(point.error, old) };
};

/** Whether a later point has more calls at once and takes less time: calls from before a change made the earlier one slow. */
const refuted = (point: Point, later: readonly Point[]): boolean =>
  later.some(
    ({ error, level, serviceMs }) =>
      level > point.level && Math.log(point.serviceMs / serviceMs) > 2 * Math.hypot(error, point.error),
  );

/** All points that stand, the older ones less sure. */
export const pointsOf = (measure: Measure, now: number): readonly Point[] => {
  const aged = measure.points.map(({ at, ...point }) => ({
    ...point,
    error: Math.hypot(point.error, (AGING * (now - at)) / 60_000),
  }));
  const point = present(measure, now);
  const all = point === null ? aged : [...aged, point];
  return all.filter((one, i) => !refuted(one, all.slice(i + 1)));
};

/** Ends the hold: its point is kept, and takes the place of an older one at its level. */
export const ended = (measure: Measure, now: number, residue: number): Measure => {
  const point = present(measure, now);
  const near = (level: number): boolean => point !== null && Math.abs(Math.log(level / point.level)) < 0.05;
  const points = measure.points.filter(({ level }) => !near(level));
  return {
    hold: [],
    since: now,
    residue,
    points: point === null ? points : [...points, { ...point, at: now }].slice(-POINTS),
  };
};

/** Forgets what was measured before the newest blocks. */
export const afresh = (measure: Measure): Measure => ({
  ...measure,
  hold: measure.hold.slice(-NEWEST / 2),
  points: [],
});

export const add = (measure: Measure, block: Block): Measure => {
  const hold = [...measure.hold, block].slice(-KEPT);
  const [older, newest] = [hold.slice(0, -NEWEST), hold.slice(-NEWEST)];
  const [before, after] = [levelOf(older), levelOf(newest)];
  if (before <= 0 || after <= 0 || Math.abs(Math.log(after / before)) < Math.log(MOVED)) return { ...measure, hold };
  return { ...ended({ ...measure, hold: older }, block.at, 0), hold: newest };
};

/** What a change left is still being given back: its share is counted from now on. */
export const draining = (measure: Measure, now: number): Measure => ({ ...measure, since: now });
