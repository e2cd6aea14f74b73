/**
 * Gathers finished groups, in any order, into the windows of the updates, as a pure state machine. Windows come in order of their index, each
 * sorted by group id. Two named orders:
 *
 *   admission    a window holds the groups that were admitted for it; a straggler holds its window back
 *   completion   a window is the next N groups to finish; biased to short episodes, and stragglers are overtaken
 *
 * A window whose filter asks for more groups comes again, enlarged by those that were admitted for it, or by the next to finish.
 *
 * Invariants: every group is in at most one window; a failed group fills its place but is left out, so a window is short, or
 * empty, rather than blocked.
 */
import type { Event } from "../domain/Event.ts";
import { type Group, isFailed, type Window } from "../domain/Group.ts";

export type Order = "admission" | "completion";

/** A window, and the failed groups that filled the rest of its places. */
export interface Assembled extends Window {
  readonly failed: readonly Group[];
  /** Refills that enlarged it, and the groups that they asked for. */
  readonly refills: number;
  readonly refilled: number;
}

/** A finished group, and the window it was admitted for. */
export interface Held {
  readonly group: Group;
  readonly window: number;
}

/** What a window asked for, as far as it has come. */
interface Refilling {
  readonly window: Assembled;
  readonly groups: number;
  readonly come: readonly Group[];
}

export interface WindowAssembler {
  readonly order: Order;
  /** Groups per window, failed ones counted (N). */
  readonly size: number;
  /** Index of the next window. */
  readonly next: number;
  /** Finished groups that no window holds yet, in order of completion. */
  readonly held: readonly Held[];
  /** Windows that are out and may ask for more; null where none ever does. */
  readonly out: readonly Assembled[] | null;
  readonly refilling: Refilling | null;
}

export const start = (order: Order, size: number, next = 0, refills = false): WindowAssembler => ({
  order,
  size,
  next,
  held: [],
  out: refills ? [] : null,
  refilling: null,
});

/** The state after an event: a window asks for more, or has its verdict and asks no more. */
export const told = (state: WindowAssembler, event: Event): WindowAssembler => {
  if (event._tag !== "Refill" && event._tag !== "Verdict") return state;
  const window = state.out?.find(({ index }) => index === event.window);
  if (window === undefined) return state;
  if (event._tag === "Refill") return { ...state, refilling: { window, groups: event.groups, come: [] } };
  return { ...state, out: (state.out ?? []).filter((other) => other !== window) };
};

interface Step {
  readonly state: WindowAssembler;
  readonly windows: readonly Assembled[];
}

/** One more finished group, with the window it was admitted for, and the windows that it completes. */
export const observe = (state: WindowAssembler, group: Group, window: number): Step => {
  const { order, refilling } = state;
  if (refilling !== null && (order === "completion" || window === refilling.window.index)) {
    return refilled(state, refilling, group);
  }
  const windows: Assembled[] = [];
  let current: WindowAssembler = { ...state, held: [...state.held, { group, window }] };
  for (let members = complete(current); members !== null; members = complete(current)) {
    const taken = new Set(members);
    const whole = assembled(
      current.next,
      members.map(({ group }) => group),
    );
    windows.push(whole);
    current = {
      ...current,
      next: current.next + 1,
      held: current.held.filter((held) => !taken.has(held)),
      out: current.out === null ? null : [...current.out, whole],
    };
  }
  return { state: current, windows };
};

const refilled = (state: WindowAssembler, { come, groups, window }: Refilling, group: Group): Step => {
  const members = [...come, group];
  if (members.length < groups)
    return { state: { ...state, refilling: { window, groups, come: members } }, windows: [] };
  const enlarged = assembled(window.index, [...window.groups, ...window.failed, ...members]);
  const whole = { ...enlarged, refills: window.refills + 1, refilled: window.refilled + groups };
  const out = (state.out ?? []).map((other) => (other === window ? whole : other));
  return { state: { ...state, out, refilling: null }, windows: [whole] };
};

const assembled = (index: number, members: readonly Group[]): Assembled => ({
  index,
  groups: inOrder(members.filter((group) => !isFailed(group))),
  failed: inOrder(members.filter(isFailed)),
  refills: 0,
  refilled: 0,
});

const complete = ({ order, size, next, held }: WindowAssembler): readonly Held[] | null => {
  const candidates = order === "completion" ? held.slice(0, size) : held.filter(({ window }) => window === next);
  return candidates.length === size ? candidates : null;
};

const inOrder = (groups: readonly Group[]): readonly Group[] =>
  groups.toSorted((a, b) => a.prompt.group - b.prompt.group);
