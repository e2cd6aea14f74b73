/**
 * The place of every group of a run, from its admission until its step is closed or it is dropped. Pure: consoles, keyframes and the page
 * fold the same events by this one function. Invariant: a failed group stays with its window.
 */
import { HashMap } from "effect";
import type { VerdictName } from "./EpisodeRecord.ts";
import type { Event } from "./Event.ts";

/** The stage that has the group, or whose turn with it comes next; in `close` it waits for its step's record. */
export type Place = "rollout" | "window" | "score" | "filter" | "learn" | "close";

export interface TrackedGroup {
  readonly group: number;
  /** The window it was admitted for, then the one it is in. */
  readonly window: number;
  /** The window whose refill asked for it; absent for one of a window's own. */
  readonly refillOf?: number;
  readonly place: Place;
  /** When it came to its place, and when it was admitted: milliseconds by the clock of whoever folds. */
  readonly since: number;
  readonly admitted: number;
  readonly verdict?: VerdictName;
}

/** The groups by their numbers. */
export type GroupPlaces = HashMap.HashMap<number, TrackedGroup>;

export const empty: GroupPlaces = HashMap.empty();

/** Moves the groups of a window that are in it to `place`. */
const moveWindow = (groups: GroupPlaces, window: number, place: Place, since: number): GroupPlaces =>
  HashMap.map(groups, (group) =>
    group.window === window && group.place !== "rollout" && group.place !== "window"
      ? { ...group, place, since }
      : group,
  );

/** The places after an event at time `at`. */
export const observe = (groups: GroupPlaces, event: Event, at: number): GroupPlaces => {
  switch (event._tag) {
    case "Resumed":
      return empty;
    case "Admitted": {
      const { group, refill, window } = event;
      const refillOf = refill === undefined ? {} : { refillOf: window };
      return HashMap.set(groups, group, { group, window, ...refillOf, place: "rollout", since: at, admitted: at });
    }
    case "Finished":
      return HashMap.modify(groups, event.group, (group) => ({
        ...group,
        place: "window",
        since: at,
        ...(event.failed ? { verdict: "failed" as const } : {}),
      }));
    case "Windowed":
      return event.groups.reduce(
        (all, id) =>
          HashMap.modify(all, id, (group) => ({ ...group, window: event.window, place: "score", since: at })),
        groups,
      );
    case "Scored":
      return moveWindow(groups, event.window, "filter", at);
    case "Verdict":
      return event.judged.reduce(
        (all, { group, verdict }) =>
          HashMap.modify(all, group, (found) => ({ ...found, verdict, place: "learn", since: at })),
        groups,
      );
    case "Updated":
    case "EmptySelection":
    case "UpdateSkipped":
      return moveWindow(groups, event.window, "close", at);
    case "Dropped":
      return HashMap.removeMany(
        groups,
        event.groups.map(({ group }) => group),
      );
    case "StepClosed":
      return HashMap.removeMany(groups, event.groups);
    default:
      return groups;
  }
};
