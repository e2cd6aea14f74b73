/**
 * The ids of a turn's prompt: an ongoing chat, a new chat with the last turns, or one message that retells them (RAGEN's context modes).
 * Pure. Invariants: earlier replies in a chat are the ids that were sampled; the first turn shown never moves back; a prompt leaves room
 * for the reply.
 */

import type { RunConfig } from "../config/RunConfig.ts";
import { concatIds } from "../domain/Batch.ts";
import type { Sampled } from "../domain/Episode.ts";
import type { ChatTemplate } from "../model/tokenizer/ChatTemplate.ts";
import type { PromptWriter } from "./Dialogue.ts";
import type { Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import type { Opening, PastTurn, TurnState } from "./Template.ts";

type Limits = RunConfig["rollout"];

/** A turn that was played. */
export interface PlayedTurn {
  readonly past: PastTurn;
  readonly sampled: Sampled;
  /** Ids between its reply and the next one, where a chat goes on. */
  readonly bridge: Int32Array;
}

/** An episode before a turn, as texts: the same for whoever plays it. */
export interface TextHistory {
  readonly rollout: Pick<Rollout, "limits" | "template">;
  readonly task: Task;
  /** The turns before, where they may be shown again. */
  readonly history: readonly Pick<PlayedTurn, "past">[];
  readonly now: TurnState;
}

/** The same as ids. */
export interface PromptHistory extends TextHistory {
  readonly rollout: Rollout;
  /** The system message, the same in all chats of the episode. */
  readonly system: string;
  /** Ids of the prompt of turn 1. */
  readonly opening: Int32Array;
  readonly history: readonly PlayedTurn[];
}

export const commonPrefix = (a: Int32Array, b: Int32Array): number => {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
};

/** A reply's ids without the token that ended it, whichever of the model's it was. */
export const withoutEnd = ({ chat }: Rollout, { ids }: Sampled): Int32Array => {
  const last = ids.at(-1);
  return last !== undefined && chat.endIds.includes(last) ? ids.subarray(0, -1) : ids;
};

/**
 * `bridge` behind a reply as it was sampled. The template's end token is forced where the reply lacks it: it was cut, a stop sequence ended it,
 * or another end token did, which stays where it was sampled.
 */
export const afterReply = ({ endId }: Pick<ChatTemplate, "endId">, { ids }: Sampled, bridge: Int32Array): Int32Array =>
  ids.at(-1) === endId ? bridge : concatIds([Int32Array.of(endId), bridge]);

/** Ids that lead from a reply to the next one, by a text of the user. */
export const bridge = ({ chat, template }: PromptWriter, sampled: Sampled, user: string): Int32Array =>
  afterReply(chat, sampled, chat.bridge(user, template.prefix));

/** The first turn that the mode shows before `turn`, where the chat of the turn before showed `shown` on. */
export const firstTurnShown = ({ context, max_context_window: most }: Limits, turn: number, shown: number): number =>
  context === "full" || most === -1 ? shown : Math.max(shown, turn - Math.max(1, most) + 1);

/** True if the next turn's prompt continues the chat of turn `turn`, which shows the turns from `from` on, as long as there is room. */
export const continuesChat = (limits: Limits, turn: number, from: number): boolean =>
  limits.context !== "single_turn" && firstTurnShown(limits, turn + 1, from) === from;

/** True if each turn is a token sequence of its own. */
export const isTurnLevel = ({ context }: Limits): boolean => context !== "full";

/** True if a later prompt may repeat an earlier turn. */
export const mayRepeatTurns = (limits: Limits): boolean => isTurnLevel(limits) || limits.overflow === "drop";

export const fitsContext = ({ max_model_len, response_length }: Limits, length: number): boolean =>
  length + response_length <= max_model_len;

/** The messages of the prompt of turn 1. */
export const openingMessages = (
  { limits, template }: TextHistory["rollout"],
  task: Task,
  state: TurnState,
): Opening => {
  const opening = template.opening(task, state);
  if (limits.context !== "single_turn") return opening;
  const retold = { first: template.state(state.view), shown: [], summary: "", previousInvalid: false };
  return { ...opening, user: template.retelling(task, state, retold) };
};

/** True if a chat that shows the turns from `from` on begins with the prompt of turn 1. */
export const opensLikeTurnOne = ({ history, rollout }: TextHistory, from: number): boolean =>
  from === 1 && (history.length === 0 || rollout.limits.context !== "single_turn");

/** The first user message of a later chat: that of turn `from`, or in `single_turn` the one that retells the turns from there on. */
export const firstUserMessage = (
  { history, now, rollout, task }: TextHistory,
  from: number,
  summary: string,
): string => {
  const { limits, template } = rollout;
  const invalidBefore = (turn: number): boolean => history[turn - 2]?.past.invalid ?? false;
  if (limits.context === "single_turn") {
    const first = template.state((history[0]?.past.before ?? now).view);
    const shown = history.slice(from - 1).map(({ past }) => past);
    return template.retelling(task, now, { first, shown, summary, previousInvalid: invalidBefore(now.turn) });
  }
  const state = history[from - 1]?.past.before ?? now;
  return template.reopening(task, state, { summary, previousInvalid: invalidBefore(from) });
};

/** Ids of a new chat that shows the turns from `from` on, with `summary` (empty: nothing) for those before. */
export const newChatIds = (scene: PromptHistory, from: number, summary: string): Int32Array => {
  const { history, opening, rollout, system } = scene;
  const retold = rollout.limits.context === "single_turn";
  const head = opensLikeTurnOne(scene, from)
    ? opening
    : rollout.chat.opening(system, firstUserMessage(scene, from, summary), rollout.template.prefix);
  const shown = retold ? [] : history.slice(from - 1);
  return concatIds([head, ...shown.flatMap(({ bridge, sampled }) => [sampled.ids, bridge])]);
};
