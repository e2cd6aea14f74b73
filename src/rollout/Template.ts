/**
 * The prompt template contract: the text around a state. The chat template turns it into ids. A template is a pure function of
 * its arguments. In a chat it shows each thing once: the opening before the first reply, then only what is new after each reply. Where
 * the model is not shown its whole history (`rollout.context`), it also writes what a prompt says of the turns before.
 */
import type { View } from "../env/contract/Environments.ts";
import type { Task } from "./Task.ts";

export interface TurnState {
  readonly view: View;
  /** 1-based. */
  readonly turn: number;
  /** Environment actions the episode may still take. */
  readonly actionsLeft: number;
}

/** The result of the previous turn. */
export interface PreviousTurn {
  /** Sum of the environment's rewards, without the format penalty. */
  readonly reward: number;
  readonly executed: number;
  /** No legal action was named; the state is as before. */
  readonly invalid: boolean;
}

/** A turn that was played, as a later prompt may tell of it in text. */
export interface PastTurn extends PreviousTurn {
  readonly before: TurnState;
  /** The reply in canonical form. */
  readonly reply: string;
  /** The actions that were carried out. */
  readonly actions: readonly string[];
  /** The number of actions that changed something, as the environment says. */
  readonly effective: number;
}

/** A prompt's account of the turns before its own, where it does not continue a chat. */
export interface Recap {
  /** The text that stands for the turns before those shown; empty for nothing. */
  readonly summary: string;
  /** The turn before named no legal action. */
  readonly previousInvalid: boolean;
}

/** The same where the turns before are shown as text. */
export interface DetailedRecap extends Recap {
  /** The first observation of the episode. */
  readonly first: string;
  /** The turns right before, oldest first. */
  readonly shown: readonly PastTurn[];
}

export interface Opening {
  /** Empty leaves the system message out. */
  readonly system: string;
  readonly user: string;
}

export interface Template {
  /** Glued to every reply's start as part of its prompt, and put back before parsing. */
  readonly prefix: string;
  readonly opening: (task: Task, turn: TurnState) => Opening;
  /** The user message after a reply. */
  readonly next: (task: Task, turn: TurnState, previous: PreviousTurn) => string;
  /** The user message that opens a chat at a later turn: what is before is out of sight. */
  readonly reopening: (task: Task, turn: TurnState, recap: Recap) => string;
  /** The one user message of a turn whose prompt is no chat (`single_turn`): the turns before it stand in it as text. */
  readonly retelling: (task: Task, turn: TurnState, recap: DetailedRecap) => string;
  /** A summary of turns made of facts alone. */
  readonly facts: (past: readonly PastTurn[]) => string;
  /** The user message that asks the policy for a summary of `past`, and of the summary `before` it (empty: none). */
  readonly summarising: (task: Task, past: readonly PastTurn[], before: string, tokens: number) => string;
  /** The state text a turn shows. */
  readonly state: (view: View) => string;
}

export interface TemplateOptions {
  readonly think: boolean;
  readonly separator: string;
}

/** The prefix of every reply: its first tag. */
export const replyPrefix = (think: boolean): string => (think ? "<think>" : "<answer>");
