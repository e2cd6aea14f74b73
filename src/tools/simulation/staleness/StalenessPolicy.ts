/**
 * A policy that bounds staleness, or tries to: it decides when a group may start, which weights sample it, which groups are trained
 * next and which are thrown away. Policies are pure functions of the run's state.
 */
import type { Version } from "../../../domain/Episode.ts";
import type { Position } from "../../../domain/Position.ts";

/** A group that was admitted and is neither in training, nor trained, nor discarded. */
export interface LiveGroup {
  readonly number: number;
  /** Newest version when it was admitted. Unless a policy pins another one, none of its tokens is older. */
  readonly start: Version;
}

export interface PipelineState {
  /** The position as the engine's admission sees it. */
  readonly position: Position;
  /** `versions[n]` is the newest version when n windows had been consumed. */
  readonly versions: readonly Version[];
  readonly isLearning: boolean;
  /** Rows of the generators that no live episode holds or waits for. */
  readonly freeSlots: number;
  /** All live groups, in order of admission. */
  readonly live: readonly LiveGroup[];
  /** Live groups whose episodes have ended, in the order in which they ended. */
  readonly finished: readonly LiveGroup[];
}

export interface StalenessPolicy {
  /** True if the next group may start now. */
  readonly admits: (state: PipelineState) => boolean;
  /** The version that samples all tokens of this group; absent when each token is sampled by the newest one. */
  readonly pinnedVersion?: (group: number, state: PipelineState) => Version;
  /** The groups to throw away now; those that are still played are aborted. */
  readonly discards?: (state: PipelineState) => readonly LiveGroup[];
  /** The groups of the next window; null while the learner has to wait. Called only while the learner is idle. */
  readonly selects: (state: PipelineState) => readonly LiveGroup[] | null;
}
