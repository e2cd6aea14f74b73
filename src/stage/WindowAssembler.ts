/**
 * Gathers finished groups, in any order, into the windows of the updates, as a pure state machine. Windows come in order of their index, each
 * sorted by group id. Two named orders:
 *
 *   admission    window w holds groups wN .. wN + N-1 (the oldest admitted); a straggler holds its window back
 *   completion   a window is the next N groups to finish; biased to short episodes, and stragglers are overtaken
 *
 * Invariants: every group is in at most one window; a failed group fills its place but is left out, so a window is short, or
 * empty, rather than blocked.
 */
import { type Group, isFailed, type Window } from "../domain/Group.ts";

export type Order = "admission" | "completion";

export interface WindowAssembler {
  readonly order: Order;
  /** Groups per window, failed ones counted (N). */
  readonly size: number;
  /** Index of the next window. */
  readonly next: number;
  /** Finished groups that no window holds yet, in order of completion. */
  readonly held: readonly Group[];
}

/** A window, and the failed groups that filled the rest of its places. */
export interface Assembled extends Window {
  readonly failed: readonly Group[];
}

export const start = (order: Order, size: number, next = 0): WindowAssembler => ({ order, size, next, held: [] });

/** One more finished group, and the windows that it completes. */
export const observe = (
  state: WindowAssembler,
  group: Group,
): { readonly state: WindowAssembler; readonly windows: readonly Assembled[] } => {
  const windows: Assembled[] = [];
  let current: WindowAssembler = { ...state, held: [...state.held, group] };
  for (let members = complete(current); members !== null; members = complete(current)) {
    const [groups, failed] = [members.filter((group) => !isFailed(group)), members.filter(isFailed)].map(inOrder);
    windows.push({ index: current.next, groups: groups!, failed: failed! });
    const taken = new Set(members);
    current = { ...current, next: current.next + 1, held: current.held.filter((held) => !taken.has(held)) };
  }
  return { state: current, windows };
};

const complete = ({ order, size, next, held }: WindowAssembler): readonly Group[] | null => {
  const candidates =
    order === "completion"
      ? held.slice(0, size)
      : held.filter(({ prompt }) => Math.floor(prompt.group / size) === next);
  return candidates.length === size ? candidates : null;
};

const inOrder = (groups: readonly Group[]): readonly Group[] =>
  groups.toSorted((a, b) => a.prompt.group - b.prompt.group);
