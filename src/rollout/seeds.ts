/**
 * The seed schedule: which group comes next. Group `g` of training has the instance seed `seed + g` and the tag at its place in the
 * window (`n_groups` of each tag, in order), so a group is a pure function of its number and the whole state is which numbers are
 * still to be issued. Invariant: every number is issued again until it is consumed, so a stopped run loses no seed.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";

type Groups = Pick<RunConfig["es_manager"]["train"], "env_groups" | "group_size" | "tags" | "n_groups" | "seed">;

/** Serialisable; a checkpoint holds it. */
export interface SeedState {
  /** The smallest number never issued. */
  readonly next: number;
  /** Numbers issued and given back, ascending; they come first. */
  readonly returned: readonly number[];
}

export const initial: SeedState = { next: 0, returned: [] };

/** Tag of the group at `place` (0 … env_groups - 1) of a window; `n_groups` must sum to `env_groups`. */
const tagAt = (groups: Groups, place: number): string => {
  let end = 0;
  for (const [i, tag] of groups.tags.entries()) {
    end += groups.n_groups[i] ?? 0;
    if (place < end) return tag;
  }
  throw new RangeError(`n_groups names ${end} groups, and group ${place} of a window is asked for`);
};

const promptAt = (groups: Groups, group: number, admittedAt: Version): Prompt => ({
  group,
  tag: tagAt(groups, group % groups.env_groups),
  seed: groups.seed + group,
  size: groups.group_size,
  admittedAt,
});

/** The next group to admit, and the state after it. */
export const next = (groups: Groups, state: SeedState, admittedAt: Version): readonly [Prompt, SeedState] => {
  const [first, ...returned] = state.returned;
  return first === undefined
    ? [promptAt(groups, state.next, admittedAt), { next: state.next + 1, returned: [] }]
    : [promptAt(groups, first, admittedAt), { next: state.next, returned }];
};

/** Groups that were admitted but not consumed (a stop cut them): their numbers are issued again, oldest first. */
export const giveBack = (state: SeedState, groups: readonly number[]): SeedState => ({
  next: state.next,
  returned: [...new Set([...state.returned, ...groups])].sort((a, b) => a - b),
});

/**
 * The prompts of one validation: the same seeds and tags every time. `round` counts validations and only sets the group ids apart, so
 * that two validations of a run never share a sequence.
 */
export const validation = (groups: Groups, round: number, admittedAt: Version): readonly Prompt[] =>
  Array.from({ length: groups.env_groups }, (_, place) => ({
    ...promptAt(groups, place, admittedAt),
    group: round * groups.env_groups + place,
  }));
