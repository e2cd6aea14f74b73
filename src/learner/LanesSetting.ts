/**
 * How many of the learner's lanes are used, as a setting of a run. Invariant: the number that is set holds from the next `apply` on, so that it
 * changes between windows only.
 */
import { Effect } from "effect";
import type { LearnerError } from "../domain/Errors.ts";
import { atLeastOne, type Setting } from "../flow/Stage.ts";
import type { LearnerLanes } from "./Learner.ts";

export interface LanesSetting extends Setting {
  /** Tells the learner, where the number has changed. */
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
