/**
 * The weights versions that play the windows of a run with a fixed lag: a group of window `w` is played whole by the version that stood when
 * max(0, w - lag) windows were consumed. Pure. Invariant: the kept versions are those of every window that is not yet consumed and may be open.
 */
import { Schema } from "effect";
import { Count } from "./Count.ts";
import type { Version } from "./Episode.ts";

export const FixedLag = Schema.Struct({
  /** Windows between the consumption that gives a window its version and the window itself. */
  lag: Count,
  /** Group numbers of each window, in a state of schema 3 alone: those of its own groups and then those of its refills. */
  numbers: Schema.optionalKey(Count),
  /** Versions after the last `lag` + 1 consumptions, oldest first. Before the first consumption it is the starting version alone. */
  versions: Schema.Array(Count),
});
/** The weights versions that play the open windows of a run with a fixed lag. */
export type FixedLag = typeof FixedLag.Type;

export const start = (lag: number, version: Version = 0): FixedLag => ({ lag, versions: [version] });

/** The state once one more window is consumed, after which `version` is the newest. */
export const consume = (state: FixedLag, version: Version): FixedLag => ({
  ...state,
  versions: [...state.versions, version].slice(-(state.lag + 1)),
});

/**
 * The version that plays `window` when `consumed` windows are consumed. Undefined if too few are consumed for it, or if the window itself is
 * consumed so that its version may be forgotten.
 */
export const versionFor = ({ lag, versions }: FixedLag, consumed: number, window: number): Version | undefined =>
  versions[versions.length - 1 - (consumed - Math.max(0, window - lag))];

/** The contradiction in the state of a run that consumed so many windows, in words; undefined where there is none. */
export const inconsistency = (
  { lag, versions }: FixedLag,
  { consumed, version }: { readonly consumed: number; readonly version: Version },
): string | undefined => {
  const count = Math.min(consumed, lag) + 1;
  if (versions.length !== count) {
    return `it keeps ${versions.length} versions of its last windows, and should keep ${count}`;
  }
  const isRising = versions.every((each, i) => i === 0 || each >= versions[i - 1]!);
  return isRising && versions.at(-1) === version
    ? undefined
    : `the versions of its last windows (${versions.join(", ")}) do not rise to ${version}`;
};
