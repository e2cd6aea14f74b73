/**
 * The group numbers that a run has still to issue. A group is a pure function of its number, so this is all there is to remember. Windows' own
 * groups are numbered in the order of admission, without a gap. Where windows form in that order, refills have a range of their own, with numbers
 * by window and place. Invariants: a number is issued again until its group is consumed; no number depends on when a refill is asked for.
 */
import { Effect, Schema } from "effect";
import { Count } from "./Count.ts";

/** The first number of refills. No run has so many groups below it: windows' own, and under `completion` order all of them. */
export const firstRefillNumber = 500_000_000;
/** The first number of the groups of gradient analyses, which training never comes to: their streams and sequences are their own. */
export const firstAnalysisNumber = 2 ** 30;

/** The numbers that refills may take: so many for one refill, and so many for all refills of a window. */
export interface RefillNumbers {
  readonly perRound: number;
  readonly perWindow: number;
}

/** A group of a refill: its window, the number of the refill from 1, and its place in that refill from 0. */
export interface RefillPlace {
  readonly window: number;
  readonly round: number;
  readonly place: number;
}

export const SeedSchedule = Schema.Struct({
  /** The smallest number never issued to one of the windows' own groups. */
  next: Count,
  /** Numbers that were issued and given back, ascending; they are issued first. */
  returned: Schema.Array(Count),
  /** The first number for refills of a window, from which those of the windows after it follow. A checkpoint has that of its next window. */
  refills: Schema.Struct({ window: Count, number: Count }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed({ window: 0, number: firstRefillNumber })),
  ),
});
/** The group numbers that a run has still to issue. */
export type SeedSchedule = typeof SeedSchedule.Type;

export const initial: SeedSchedule = { next: 0, returned: [], refills: { window: 0, number: firstRefillNumber } };

/** The number to issue next in the order of admission. */
export const nextGroup = ({ next, returned }: SeedSchedule): number => returned[0] ?? next;

/** The first number for refills of a window. */
const firstOfWindow = ({ refills }: SeedSchedule, { perWindow }: RefillNumbers, window: number): number =>
  refills.number + (window - refills.window) * perWindow;

/** The number of a group of a refill, which depends on nothing but its place. */
export const refillGroup = (
  schedule: SeedSchedule,
  numbers: RefillNumbers,
  { place, round, window }: RefillPlace,
): number => firstOfWindow(schedule, numbers, window) + (round - 1) * numbers.perRound + place;

export const isOfRefill = (group: number): boolean => group >= firstRefillNumber;

/** The schedule once `group` is issued. Numbers of refills follow from their places, so that there is nothing to remember of them. */
export const issue = (schedule: SeedSchedule, group: number): SeedSchedule => {
  if (isOfRefill(group)) return schedule;
  return schedule.returned.includes(group)
    ? { ...schedule, returned: schedule.returned.filter((number) => number !== group) }
    : { ...schedule, next: Math.max(schedule.next, group + 1) };
};

/** Takes numbers back whose groups were not consumed; they are issued again, smallest first. */
export const giveBack = (schedule: SeedSchedule, groups: Iterable<number>): SeedSchedule => {
  const issued = [...groups].filter((group) => !isOfRefill(group));
  return { ...schedule, returned: [...new Set([...schedule.returned, ...issued])].sort((a, b) => a - b) };
};

/** The schedule of a run that goes on with `window`, also where its refills have more or fewer numbers from then on. */
export const goOnWith = (schedule: SeedSchedule, window: number, numbers: RefillNumbers | null): SeedSchedule =>
  numbers === null ? schedule : { ...schedule, refills: { window, number: firstOfWindow(schedule, numbers, window) } };

/** Tells the groups of consumed windows, whose numbers are not issued again, by the schedule of a checkpoint. */
export const consumedGroups = ({ next, refills, returned }: SeedSchedule): ((group: number) => boolean) => {
  const givenBack = new Set(returned);
  return (group) => (isOfRefill(group) ? group < refills.number : group < next && !givenBack.has(group));
};
