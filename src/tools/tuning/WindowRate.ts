/**
 * Measures how fast windows pass the learner under one setting, and how sure that is. It counts whole windows, from one that is seen to be
 * done to a later one. The first ones after a pause or a change are passed over, for they were made before.
 */

/** From one window that was seen to be done to the next, milliseconds; it may be several that one look saw. */
interface Piece {
  readonly ms: number;
  readonly windows: number;
  /** Time between the two last looks: by so much the end may have been earlier. */
  readonly lookMs: number;
  /** True for the first piece after a pause. */
  readonly begins: boolean;
}

/** The counters when a look is taken. */
export interface Look {
  readonly elapsedMs: number;
  /** Milliseconds since the look before. */
  readonly lookMs: number;
  /** Windows done since the start. */
  readonly windows: number;
}

export interface State {
  /** Windows that are done when it begins to count. */
  readonly from: number;
  readonly last: { readonly at: number; readonly windows: number; readonly begins: boolean } | null;
  readonly pieces: readonly Piece[];
}

export interface Estimate {
  /** Windows a second. */
  readonly rate: number;
  /** Its standard error, as a share. */
  readonly error: number;
  readonly ms: number;
}

/** A rate needs at least these windows, milliseconds and batches. */
const LEAST = { windows: 6, ms: 20_000, batches: 4 };
const KEPT_MS = 300_000;
/** Times of so many batches of windows are compared: in longer batches bursts even out. */
const BATCHES = 8;

/** Counts when so many windows are done. */
export const start = (from: number): State => ({ from, last: null, pieces: [] });

/** Keeps what was measured, and goes on when so many windows are done. */
export const paused = (pace: State, from: number): State => ({ ...pace, from, last: null });

const total = (pieces: readonly Piece[], part: (piece: Piece) => number): number =>
  pieces.reduce((sum, piece) => sum + part(piece), 0);

const newest = (pieces: readonly Piece[]): readonly Piece[] =>
  total(pieces, ({ ms }) => ms) > KEPT_MS ? newest(pieces.slice(1)) : pieces;

export const add = (pace: State, { elapsedMs, lookMs, windows }: Look): State => {
  const { from, last, pieces } = pace;
  if (windows < from || windows === last?.windows) return pace;
  if (last === null) return { ...pace, last: { at: elapsedMs, windows, begins: true } };
  const piece = { ms: elapsedMs - last.at, windows: windows - last.windows, lookMs, begins: last.begins };
  return { ...pace, last: { at: elapsedMs, windows, begins: false }, pieces: newest([...pieces, piece]) };
};

/** Whole pieces of at least so many windows together. */
const batched = (pieces: readonly Piece[], windows: number): readonly (readonly Piece[])[] => {
  const batches: Piece[][] = [[]];
  for (const piece of pieces) {
    if (total(batches.at(-1)!, (one) => one.windows) >= windows) batches.push([]);
    batches.at(-1)!.push(piece);
  }
  return batches;
};

/** Null where too little has passed to tell. */
export const estimate = ({ pieces }: State): Estimate | null => {
  const ms = total(pieces, (piece) => piece.ms);
  const windows = total(pieces, (piece) => piece.windows);
  if (windows < LEAST.windows || ms < LEAST.ms) return null;
  const batches = batched(pieces, windows / BATCHES);
  if (batches.length < LEAST.batches) return null;
  const squares = batches.reduce(
    (sum, batch) =>
      sum + (total(batch, (piece) => piece.ms) - (total(batch, (piece) => piece.windows) * ms) / windows) ** 2,
    0,
  );
  // Both ends of a batch are off by up to a look, which cancels out between batches.
  const looks = total(pieces, ({ lookMs }) => lookMs ** 2 / 6) / pieces.length;
  const spread = Math.max(0, squares / (batches.length - 1) - looks);
  const segments = Math.max(1, pieces.filter(({ begins }) => begins).length);
  const error = Math.sqrt(spread * batches.length + looks * segments) / ms;
  return { rate: (1000 * windows) / ms, error, ms };
};
