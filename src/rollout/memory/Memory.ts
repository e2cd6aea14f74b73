/** The memory of RAGEN's `single_turn` prompts: a pure function from the turns so far to the text of the one user message. */
import type { Task } from "../Task.ts";
import type { DetailedRecap, TurnState } from "../Template.ts";

/** The requirements on a reply that every turn's message states. */
export interface ReplyForm {
  /** The tags of a reply, with placeholders between them. */
  readonly form: string;
  /** A sentence that names the longest reply; no limit is enforced by it. */
  readonly lengthSentence: string;
  /** Rewards are whole numbers, and shown as such. */
  readonly wholeRewards: boolean;
}

export type Memory = (turn: TurnState, recap: DetailedRecap, form: ReplyForm) => string;

/** The names that a preset's `memory` takes. */
export type MemoryName = Task["memory"];
