/** A stage's slots and queue as a few shapes: one each while there are few, else parts of a bar. */
import type { StageView } from "../../Api.ts";

export type Slot = "busy" | "blocked" | "free";

export interface Slots {
  readonly counts: Readonly<Record<Slot, number>>;
  /** One for each slot; null where there are too many to draw. */
  readonly cells: readonly Slot[] | null;
}

/** Slots over the concurrency are still at work after it was lowered; they count. */
export const slotsOf = (
  { blocked, concurrency, running }: Pick<StageView, "blocked" | "concurrency" | "running">,
  most: number,
): Slots => {
  const free = Math.max(0, concurrency - running - blocked);
  const counts = { busy: running, blocked, free };
  if (running + blocked + free > most) return { counts, cells: null };
  const times = (count: number, slot: Slot): readonly Slot[] => Array.from({ length: count }, () => slot);
  return { counts, cells: [...times(running, "busy"), ...times(blocked, "blocked"), ...times(free, "free")] };
};

export interface QueueDots {
  /** Dots drawn: full ones first. */
  readonly full: number;
  readonly empty: number;
  /** Items without a dot. */
  readonly more: number;
}

/** A service has no capacity: only its waiting callers are drawn. */
export const queueOf = ({ capacity, queue }: Pick<StageView, "capacity" | "queue">, most: number): QueueDots => {
  const full = Math.min(queue, most);
  return { full, empty: Math.max(0, Math.min(capacity, most) - full), more: queue - full };
};
