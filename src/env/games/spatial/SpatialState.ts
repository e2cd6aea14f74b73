/** The state of a spatial episode; derived values are not stored. */
import type { Question } from "./questions/Question.ts";
import type { Pose, Thing } from "./Space.ts";

/** The result of the last action. */
export type Outcome =
  | { readonly _tag: "Unreadable" }
  | {
      readonly _tag: "Explored";
      /** What was done, a sentence each; ends with what failed, if something did. */
      readonly done: readonly string[];
    }
  | { readonly _tag: "Answered"; readonly answer: string; readonly right: boolean };

export interface SpatialState {
  readonly things: readonly Thing[];
  readonly start: Pose;
  readonly question: Question;
  readonly pose: Pose;
  /** Names of the objects observed so far, in the room's order. */
  readonly seen: readonly string[];
  readonly steps: number;
  readonly last: Outcome | null;
}
