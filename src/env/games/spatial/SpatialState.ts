/** The state of a spatial episode; derived values are not stored. */
import type { RoomQuestion } from "./questions/Question.ts";
import type { Pose, RoomObject } from "./Space.ts";

/** The result of the last action. */
export type LastAction =
  | { readonly _tag: "Unreadable" }
  | {
      readonly _tag: "Explored";
      /** One sentence for each movement; the last one names the failure, if there is one. */
      readonly done: readonly string[];
    }
  | { readonly _tag: "Answered"; readonly answer: string; readonly right: boolean };

export interface SpatialState {
  readonly things: readonly RoomObject[];
  readonly start: Pose;
  readonly question: RoomQuestion;
  readonly pose: Pose;
  /** The names of the objects observed so far, in the room's order. */
  readonly seen: readonly string[];
  readonly steps: number;
  readonly last: LastAction | null;
}
