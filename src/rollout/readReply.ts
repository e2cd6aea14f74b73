/** A reply as it was read: its thought, its actions as the environment takes them, and the calls that it makes of tools. Pure. */
import type { RunConfig } from "../config/RunConfig.ts";
import type { Info } from "../domain/Info.ts";
import type { View } from "../env/contract/Environments.ts";
import { type MappedActions, mapActions } from "./actions.ts";
import { type Grammar, type ParsedReply, parse } from "./parse.ts";
import type { Task } from "./Task.ts";

/** The turn of an episode that a reply is read in. */
export interface ReplyPosition {
  readonly task: Task;
  readonly limits: RunConfig["rollout"];
  readonly view: View;
  /** Environment actions the episode may still take. */
  readonly actionsLeft: number;
  /** The reply was cut at its length limit. */
  readonly isCut: boolean;
}

/** A call that a reply makes. */
export interface CallRequest {
  /** Says why it is not carried out; null where it may be. */
  readonly problem: string | null;
}

/** The calls that a reply with tools makes, in order. */
export interface CallRequests {
  readonly isAnswer: boolean;
  /** The calls; an answer counts as one. */
  readonly calls: readonly CallRequest[];
  /** Sentences on parts of the reply that could not be read. */
  readonly problems: readonly string[];
}

export interface ReplyReading extends MappedActions {
  readonly reading: ParsedReply;
  /** Absent for text actions. */
  readonly requests?: CallRequests;
  /** Numbers of the reading that count as the environment's. */
  readonly info?: Info;
}

/** The grammar by which text actions are read. */
const grammarOf = ({ limits, task }: Pick<ReplyPosition, "limits" | "task">): Grammar => ({
  think: limits.enable_think,
  separator: task.wholeAnswer ? null : limits.action_sep,
  maxActions: limits.max_actions_per_turn,
});

/** Reads text actions. `reply` has its generation prefix put back and its end token left out. */
export const readReply = (
  { actionsLeft, view, ...options }: Omit<ReplyPosition, "isCut">,
  reply: string,
): ReplyReading => {
  const reading = parse(reply, grammarOf(options));
  return { reading, ...mapActions(reading.actions, view.actions, actionsLeft) };
};
