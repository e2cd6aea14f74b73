/**
 * How many requests a server is given at once, by what it says of its own queue: as many as it takes while none waits there, fewer where some do
 * or its cache is full. Pure. Invariant: at least 1, at most `most`.
 */
import type { Load } from "./Dialect.ts";

/** Requests at once where a server does not say what it takes. */
export const USUAL_PLACES = 64;

/** Share of the cache from which a server is full: it begins to throw running requests out. */
const FULL = 0.95;
/** Growth of one step: a share of the places, and at least one. */
const GROWTH = 8;

/**
 * @param open requests that it has of ours
 * @param most what it takes, or the run file says
 */
export const placesAfter = (places: number, open: number, { cache = 0, waiting = 0 }: Load, most: number): number => {
  // What waits there is of ours or of others; either way it is of no use that more does.
  if (waiting > 0) return Math.max(1, Math.min(places, open) - waiting);
  if (cache >= FULL) return Math.max(1, Math.min(places, open));
  return Math.min(most, places + Math.max(1, Math.floor(places / GROWTH)));
};
