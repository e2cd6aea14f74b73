/** How RAGEN's `single_turn` prompt tells of the turns before: a memory is a pure function to the text of the one user message. */
import type { Task } from "../Task.ts";
import type { Moment, Retold } from "../Template.ts";

/** What every turn asks for. */
export interface Asked {
  /** The form of a reply. */
  readonly form: string;
  /** The length that the prompt names. */
  readonly length: string;
}

export type Memory = (moment: Moment, retold: Retold, asked: Asked) => string;

/** The names that a preset's `memory` takes. */
export type MemoryName = Task["memory"];
