/**
 * Decides whether groups can all be trained in time. A group that started at version s has to be trained from version s + maxStaleness or
 * before, and each version trains one window of groups. By Hall's theorem that is possible exactly if no prefix of the deadlines asks for more groups than
 * the windows until then hold.
 */
import type { Version } from "../../../domain/Episode.ts";

export interface Schedule {
  /** Groups per window. */
  readonly groups: number;
  readonly maxStaleness: number;
  /** The version that the next window is trained from. */
  readonly version: Version;
}

/** True if groups with these starting versions, in ascending order, can all be trained within the bound. */
export const areFeasible = (starts: readonly Version[], { groups, maxStaleness, version }: Schedule): boolean =>
  starts.every((start, index) => index + 1 <= groups * (start + maxStaleness - version + 1));
