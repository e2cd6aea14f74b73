/**
 * What was tried of a stage's concurrency and did not pay. A direction that failed is left alone for a while, twice as long after each
 * failure; a failed value bounds what is tried next.
 */

export type Direction = "up" | "down";

interface Tried {
  /** The nearest value that did not pay. */
  readonly bound: number;
  /** Whether it was worse, and not only no better: then it stays so whatever the other stages do. */
  readonly worse: boolean;
  /** Milliseconds of the run before which it is not tried again. */
  readonly until: number;
  readonly restMs: number;
}

export interface Memory {
  readonly up: Tried | null;
  readonly down: Tried | null;
}

export const empty: Memory = { up: null, down: null };

/** A failed direction rests so long at first, and at most so long. */
const REST_MS = 150_000;
const LONGEST_REST_MS = 1_200_000;
/** Nearer than by this factor nothing is tried: the difference could not be measured. */
const NEAREST = 1.25;
/** A loss of this share shows that the value is worse. */
const WORSE = -0.05;
/** A growth that gains this share of what the slots grew by was not crowded: fewer slots need no trial. */
const PROPORTIONAL = 0.6;

/** What is tried next from `concurrency`, stepping by `factor`; null where that is known not to pay, or nothing is left to try. */
export const next = (
  { down, up }: Memory,
  direction: Direction,
  concurrency: number,
  factor: number,
  now: number,
): number | null => {
  const tried = direction === "up" ? up : down;
  const forth = direction === "up";
  const step = forth ? concurrency * factor : concurrency / factor;
  if (tried === null || now >= tried.until) return Math.round(step);
  const ratio = forth ? tried.bound / concurrency : concurrency / tried.bound;
  if (ratio < NEAREST) return null;
  const middle = Math.round(Math.sqrt(tried.bound * concurrency));
  return middle === concurrency || middle === tried.bound ? null : middle;
};

/** Remembers that `value` did not pay, for the share that throughput gained. */
export const failed = (memory: Memory, direction: Direction, value: number, gain: number, now: number): Memory => {
  const before = memory[direction];
  const again = before !== null && now >= before.until;
  const restMs = before === null ? REST_MS : Math.min(LONGEST_REST_MS, before.restMs * (again ? 2 : 1));
  return { ...memory, [direction]: { bound: value, worse: gain < WORSE, until: now + restMs, restMs } };
};

/** Remembers that the stage went from one value to another, which gained a share: what lies behind it is worse. */
export const paid = (
  memory: Memory,
  direction: Direction,
  [from, to]: readonly [number, number],
  gain: number,
  now: number,
): Memory => {
  const back = direction === "up" ? "down" : "up";
  const uncrowded = direction === "up" && gain >= PROPORTIONAL * (to / from - 1);
  return { ...failed(memory, back, uncrowded ? to : from, WORSE - 1, now), [direction]: memory[direction] };
};

/** After a change of another stage: what was only no better may be better beside it. */
export const beside = ({ down, up }: Memory): Memory => ({
  up: up?.worse === true ? up : null,
  down: down?.worse === true ? down : null,
});
