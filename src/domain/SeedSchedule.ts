/**
 * The group numbers that a run has still to issue. A group is a pure function of its number, so this is all there is to remember.
 * Invariant: a number is issued again until its group is consumed, so a stopped run loses no seed.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";

export const SeedSchedule = Schema.Struct({
  /** The smallest number never issued. */
  next: Count,
  /** Numbers that were issued and given back, ascending; they are issued first. */
  returned: Schema.Array(Count),
});
/** The group numbers that a run has still to issue. */
export type SeedSchedule = typeof SeedSchedule.Type;

export const initial: SeedSchedule = { next: 0, returned: [] };

/** The number to issue next. */
export const nextGroup = ({ next, returned }: SeedSchedule): number => returned[0] ?? next;

/** The schedule once `group`, its head, is issued. */
export const issue = (schedule: SeedSchedule, group: number): SeedSchedule =>
  schedule.returned.includes(group)
    ? { next: schedule.next, returned: schedule.returned.filter((number) => number !== group) }
    : { next: Math.max(schedule.next, group + 1), returned: schedule.returned };

/** Takes numbers back whose groups were not consumed; they are issued again, smallest first. */
export const giveBack = ({ next, returned }: SeedSchedule, groups: Iterable<number>): SeedSchedule => ({
  next,
  returned: [...new Set([...returned, ...groups])].sort((a, b) => a - b),
});
