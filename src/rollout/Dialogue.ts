/**
 * A dialogue writes the prompts of a task and reads the replies. Text actions and calls of tools each have one. A group takes its task's once,
 * and the loop of an episode knows neither.
 * Invariant: a bridge is rendered behind the ids of the reply before it, which are never rendered again.
 */
import type { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Sampled } from "../domain/Episode.ts";
import type { StepFailure, View } from "../env/contract/Environments.ts";
import type { ChatTemplate } from "../model/tokenizer/ChatTemplate.ts";
import type { Tokenizer } from "../model/tokenizer/Tokenizer.ts";
import type { CallRequests, ReplyPosition, ReplyReading } from "./readReply.ts";
import type { Task } from "./Task.ts";
import type { PreviousTurn, Template, TurnState } from "./Template.ts";

/** The parts of a run that write prompts. */
export interface PromptWriter {
  readonly template: Template;
  readonly chat: ChatTemplate;
  readonly limits: RunConfig["rollout"];
}

/** The beginning that a group's chats share. */
export interface ChatOpening {
  readonly system: string;
  /** Ids of the prompt of turn 1, and how many of them other episodes show too. */
  readonly opening: Int32Array;
  readonly sharedPrefix: number;
}

/** A reply that was applied, as the next prompt tells of it. */
export interface RepliedTurn extends PreviousTurn {
  readonly view: View;
  /** Absent for text actions. */
  readonly requests?: CallRequests;
  /** The texts that answer the executed actions, in order; empty for text actions. */
  readonly results: readonly string[];
}

export interface Dialogue {
  /** Glued to every reply's start as part of its prompt, and put back before reading. */
  readonly prefix: (template: Template) => string;
  /** Opens the chats of a group of `size` episodes. */
  readonly open: (
    writer: PromptWriter,
    task: Task,
    first: TurnState,
    size: number,
  ) => Effect.Effect<ChatOpening, StepFailure>;
  /** Reads a reply, its prefix put back and its end token left out. Pure. */
  readonly read: (position: ReplyPosition, reply: string) => ReplyReading;
  /** The text that the turn behind a reply shows, for people and logs. */
  readonly shownAfter: (template: Template, replied: Pick<RepliedTurn, "view" | "requests" | "results">) => string;
  /** Ids that lead from a reply to the next one; undefined where no chat goes on. */
  readonly bridge: (
    writer: PromptWriter,
    task: Task,
    sampled: Sampled,
    replied: RepliedTurn,
    next: TurnState,
  ) => Effect.Effect<Int32Array | undefined, StepFailure>;
}

/** The dialogue of tools, which can write replies of its form as well. */
export interface ToolDialogue extends Dialogue {
  /** The reply that takes these actions, without the prefix and the end. Fails with a sentence where the template cannot write it. */
  readonly write: (
    writer: Pick<PromptWriter, "chat"> & Pick<Tokenizer, "decode">,
    actions: readonly string[],
    thought: string,
  ) => Effect.Effect<string, string>;
}
