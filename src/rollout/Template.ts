/**
 * The prompt template contract: the text around a state. The chat template turns it into ids. A template is a pure function of
 * its arguments, and shows each thing once: the opening before the first reply, then only what is new after each reply.
 */
import type { View } from "../env/Environments.ts";
import type { Task } from "./Task.ts";

export interface Moment {
  readonly view: View;
  /** 1-based. */
  readonly turn: number;
  /** Environment actions the episode may still take. */
  readonly actionsLeft: number;
}

/** What the previous turn came to. */
export interface Previous {
  /** Sum of the environment's rewards, without the format penalty. */
  readonly reward: number;
  readonly executed: number;
  /** No legal action was named; the state is as before. */
  readonly invalid: boolean;
}

export interface Opening {
  /** Empty leaves the system message out. */
  readonly system: string;
  readonly user: string;
}

export interface Template {
  /** Glued to every reply's start as part of its prompt, and put back before parsing. */
  readonly prefix: string;
  readonly opening: (task: Task, moment: Moment) => Opening;
  /** The user message after a reply. */
  readonly next: (task: Task, moment: Moment, previous: Previous) => string;
  /** The state text a turn shows. */
  readonly state: (view: View) => string;
}

export interface TemplateOptions {
  readonly think: boolean;
  readonly separator: string;
}

/** Where a reply starts: inside its first tag. */
export const replyPrefix = (think: boolean): string => (think ? "<think>" : "<answer>");
