/**
 * Adjusts the number of requests that a server gets at once: more while none waits there, fewer while some do or its cache is full.
 * Invariant: at least 1, at most `most`.
 */
import type { ServerLoad } from "./Dialect.ts";

/** Requests at once for a server that reports no limit. */
export const DEFAULT_PLACES = 64;

/** Share of the cache from which a server counts as full: it begins to evict running requests. */
const FULL = 0.95;
/** One step adds one place in eight, and at least one. */
const GROWTH = 8;

/**
 * @param open our requests that the server has
 *
 * @param most the server's limit, or the run file's
 */
export const adjustPlaces = (
  places: number,
  open: number,
  { cache = 0, waiting = 0 }: ServerLoad,
  most: number,
): number => {
  // Waiting requests may be ours or others'; in either case more requests would not help.
  if (waiting > 0) return Math.max(1, Math.min(places, open) - waiting);
  if (cache >= FULL) return Math.max(1, Math.min(places, open));
  return Math.min(most, places + Math.max(1, Math.floor(places / GROWTH)));
};
