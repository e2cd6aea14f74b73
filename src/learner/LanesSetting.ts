/**
 * The number of the learner's lanes in use, as a setting that can be changed during a run. Invariant: a new number takes effect at the next
 * `apply`, so it changes between windows only.
 */
import { Effect } from "effect";
import type { LearnerError } from "../domain/Errors.ts";
import { atLeastOne, type Setting } from "../flow/Stage.ts";
import type { LearnerLanes } from "./Learner.ts";

export interface LanesSetting extends Setting {
  /** Sends the number to the learner if it has changed. */
  readonly apply: Effect.Effect<void, LearnerError>;
}

export const make = ({ most, use }: LearnerLanes): LanesSetting => {
  let next = most;
  let used = most;
  return {
    name: "lanes",
    most,
    concurrency: () => next,
    setConcurrency: (count) =>
      Effect.sync(() => {
        next = Math.min(most, atLeastOne(count));
      }),
    apply: Effect.suspend(() => {
      if (used === next) return Effect.void;
      used = next;
      return use(used);
    }),
  };
};
