/** The memory of RAGEN's `single_turn` prompts: a pure function from the turns so far to the text of the one user message. */
import type { Task } from "../Task.ts";
import type { DetailedRecap, TurnState } from "../Template.ts";

/** The form of reply that every turn asks for. */
export interface ReplyForm {
  /** The form of a reply. */
  readonly form: string;
  /** The length that the prompt names. */
  readonly length: string;
  /** Rewards are whole numbers, and shown as such. */
  readonly wholeRewards: boolean;
}

export type Memory = (turn: TurnState, recap: DetailedRecap, form: ReplyForm) => string;

/** The names that a preset's `memory` takes. */
export type MemoryName = Task["memory"];
