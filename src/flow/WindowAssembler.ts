/**
 * Gathers finished groups, in any order, into the windows of the updates, as a pure state machine. Windows leave in order of their index,
 * each sorted by group id. There are two orders:
 *
 *   admission    a window holds the groups that were admitted for it; a straggler holds its window back
 *   completion   a window is the next N groups to finish; it is biased to short episodes, and stragglers are overtaken
 *
 * A refill sends a window out again, enlarged by the groups admitted for it, or by the next to finish. Invariants: every group is in at
 * most one window; a failed group fills its place but is left out, so a window is short, or empty, rather than blocked.
 */
import type { Event } from "../domain/Event.ts";
import { type Group, isFailed, type Window } from "../domain/Group.ts";

export type WindowOrder = "admission" | "completion";

/** A window, and the failed groups that filled the rest of its places. */
export interface AssembledWindow extends Window {
  readonly failed: readonly Group[];
  /** Refills that enlarged it, and the groups that they asked for. */
  readonly refills: number;
  readonly refilled: number;
}

/** A finished group, and the window it was admitted for. */
export interface WaitingGroup {
  readonly group: Group;
  readonly window: number;
}

/** A refill that a window waits for, with the groups of it that have finished. */
interface PendingRefill {
  readonly window: AssembledWindow;
  readonly groups: number;
  readonly received: readonly Group[];
}

export interface WindowAssembler {
  readonly order: WindowOrder;
  /** Groups per window, failed ones counted (N). */
  readonly size: number;
  /** Index of the next window. */
  readonly next: number;
  /** Finished groups that no window holds yet, in order of completion. */
  readonly waiting: readonly WaitingGroup[];
  /** Windows that are out and may ask for more; null where none ever does. */
  readonly unjudged: readonly AssembledWindow[] | null;
  readonly refilling: PendingRefill | null;
}

export const start = (order: WindowOrder, size: number, next = 0, refills = false): WindowAssembler => ({
  order,
  size,
  next,
  waiting: [],
  unjudged: refills ? [] : null,
  refilling: null,
});

/** The state after an event: a window asks for more, or has its verdict and asks no more. */
export const observe = (state: WindowAssembler, event: Event): WindowAssembler => {
  if (event._tag !== "Refill" && event._tag !== "Verdict") return state;
  const window = state.unjudged?.find(({ index }) => index === event.window);
  if (window === undefined) return state;
  if (event._tag === "Refill") return { ...state, refilling: { window, groups: event.groups, received: [] } };
  return { ...state, unjudged: (state.unjudged ?? []).filter((other) => other !== window) };
};

interface AssemblyResult {
  readonly state: WindowAssembler;
  readonly windows: readonly AssembledWindow[];
}

/** One more finished group, with the window it was admitted for, and the windows that it completes. */
export const addGroup = (state: WindowAssembler, group: Group, window: number): AssemblyResult => {
  const { order, refilling } = state;
  if (refilling !== null && (order === "completion" || window === refilling.window.index)) {
    return addToRefill(state, refilling, group);
  }
  const windows: AssembledWindow[] = [];
  let current: WindowAssembler = { ...state, waiting: [...state.waiting, { group, window }] };
  for (let members = membersOfNext(current); members !== null; members = membersOfNext(current)) {
    const assigned = new Set(members);
    const assembled = assemble(
      current.next,
      members.map(({ group }) => group),
    );
    windows.push(assembled);
    current = {
      ...current,
      next: current.next + 1,
      waiting: current.waiting.filter((candidate) => !assigned.has(candidate)),
      unjudged: current.unjudged === null ? null : [...current.unjudged, assembled],
    };
  }
  return { state: current, windows };
};

const addToRefill = (
  state: WindowAssembler,
  { received, groups, window }: PendingRefill,
  group: Group,
): AssemblyResult => {
  const members = [...received, group];
  if (members.length < groups)
    return { state: { ...state, refilling: { window, groups, received: members } }, windows: [] };
  const enlarged = assemble(window.index, [...window.groups, ...window.failed, ...members]);
  const refilledWindow = { ...enlarged, refills: window.refills + 1, refilled: window.refilled + groups };
  const unjudged = (state.unjudged ?? []).map((other) => (other === window ? refilledWindow : other));
  return { state: { ...state, unjudged, refilling: null }, windows: [refilledWindow] };
};

const assemble = (index: number, members: readonly Group[]): AssembledWindow => ({
  index,
  groups: byGroupId(members.filter((group) => !isFailed(group))),
  failed: byGroupId(members.filter(isFailed)),
  refills: 0,
  refilled: 0,
});

const membersOfNext = ({ order, size, next, waiting: groups }: WindowAssembler): readonly WaitingGroup[] | null => {
  const candidates = order === "completion" ? groups.slice(0, size) : groups.filter(({ window }) => window === next);
  return candidates.length === size ? candidates : null;
};

const byGroupId = (groups: readonly Group[]): readonly Group[] =>
  groups.toSorted((a, b) => a.prompt.group - b.prompt.group);
