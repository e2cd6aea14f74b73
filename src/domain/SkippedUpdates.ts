/**
 * Updates in a row that were skipped: a network that had something to train took no step, because of numbers that are not finite. A window
 * without anything to train neither adds to the row nor ends it. Part of the run's state, so that a resumed run goes on counting.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import type { Updated, UpdateSkipped } from "./Event.ts";

export const SkippedUpdates = Schema.Struct({
  count: Count,
  /** Step of the first of them. */
  since: Count,
});
export type SkippedUpdates = typeof SkippedUpdates.Type;

/** The row after one more skipped update, in `step`. */
export const extend = (row: SkippedUpdates | null, step: number): SkippedUpdates => ({
  count: (row?.count ?? 0) + 1,
  since: row?.since ?? step,
});

/** The row after a window was consumed; null where there is none. */
export const observe = (row: SkippedUpdates | null, event: Updated | UpdateSkipped): SkippedUpdates | null => {
  if (event.notFinite !== undefined) return extend(row, event.window + 1);
  return event._tag === "Updated" ? null : row;
};

/** True if the row is too long: `limit` updates (0: never), or all the windows of a shorter run. */
export const isTooLong = ({ count }: SkippedUpdates, limit: number, windows: number): boolean =>
  limit > 0 && count >= Math.min(limit, windows);
