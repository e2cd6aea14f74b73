/**
 * One turn of an episode: generate a reply, read it, step the environment. Invariants: a failed step is the episode's outcome; a failed
 * engine fails the effect.
 */
import { Effect } from "effect";
import type { Sampled, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Environments, View } from "../env/contract/Environments.ts";
import type { Policy } from "../generation/Policy.ts";
import { type AppliedReply, applyReply } from "./applyReply.ts";
import { withoutEnd } from "./context.ts";
import type { Dialogue } from "./Dialogue.ts";
import { samplingKey } from "./keys.ts";
import type { ParsedReply } from "./parse.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { idsWithin } from "./thought.ts";

/** The part of an episode that is the same in every turn. */
export interface EpisodeContext {
  readonly policy: typeof Policy.Service;
  readonly environments: typeof Environments.Service;
  /** Templates and limits of the run. */
  readonly rollout: Rollout;
  readonly mode: PlayMode;
  /** The group's environment and seed. */
  readonly prompt: Prompt;
  /** Index of the episode in its group. */
  readonly member: number;
  /** The environment as prompts describe it, and how replies to it are read. */
  readonly task: Task;
  readonly dialogue: Dialogue;
  /** Content key of the instance; a step that hangs counts against it. */
  readonly instance: string;
  /** Key of the episode's caches in the generator. */
  readonly sequence: number;
}

/** The state of an episode before a turn. */
export interface EpisodeState {
  /** Counts from 1. */
  readonly turn: number;
  /** The observation before the turn. */
  readonly view: View;
  /** The text that the turn shows, for people and logs. */
  readonly shown: string;
  readonly actionsLeft: number;
  /** True if an earlier turn reached success. */
  readonly success: boolean;
}

/** The ids shown to the model before its reply. */
export interface PromptUpdate {
  /** Ids to append to the chat that is open in the generator. A new chat is empty, so these are all its ids. */
  readonly append: Int32Array;
  /** Number of ids at the start of a new chat that other chats have too. */
  readonly sharedPrefix: number;
  /** Ids that the record keeps before the reply. They are more than `append` if each turn is trained on as a sequence of its own. */
  readonly recordedPrompt: Int32Array;
  /** True if the next turn can append to this chat. If not, its caches are released after the reply. */
  readonly canContinue: boolean;
}

/** The result of one turn. */
export interface TurnResult
  extends Pick<AppliedReply, "view" | "success" | "invalid" | "outcome" | "requests" | "results"> {
  readonly record: Turn;
  /** The reply as the template writes its thought and actions, for later prompts that quote it. */
  readonly canonical: string;
}

/** The reply as text, its generation prefix put back and its end token left out. */
const replyText = ({ dialogue, rollout }: EpisodeContext, sampled: Sampled): string =>
  dialogue.prefix(rollout.template) + rollout.decode(withoutEnd(rollout, sampled));

/** The range of ids that spell the thought, as a field of the turn's record; empty without a thought. */
const thoughtOf = (
  { dialogue, rollout: { pieces, template } }: EpisodeContext,
  { ids }: Sampled,
  { span }: ParsedReply,
): Pick<Turn, "thought"> => {
  if (span === null) return {};
  const shown = dialogue.prefix(template).length;
  const thought = idsWithin(pieces(ids), [span[0] - shown, span[1] - shown]);
  return thought === undefined ? {} : { thought };
};

const generate = (
  context: EpisodeContext,
  { turn }: EpisodeState,
  { append, canContinue, sharedPrefix }: PromptUpdate,
) => {
  const { member, mode, policy, prompt, rollout, sequence } = context;
  const reply = policy.generate({
    sequence,
    append,
    sharedPrefix,
    maxTokens: rollout.limits.response_length,
    sampling: mode.sampling,
    key: samplingKey(rollout.seed, mode.split, prompt, member, turn),
    pin: mode.pin,
  });
  return canContinue ? reply : Effect.tap(reply, () => policy.release(sequence));
};

/** Plays one turn. */
export const playTurn = Effect.fnUntraced(function* (
  context: EpisodeContext,
  before: EpisodeState,
  update: PromptUpdate,
) {
  const { dialogue, environments, instance, member, mode, prompt, rollout, task } = context;
  const { shown, ...position } = before;
  const sampled = yield* generate(context, before, update);
  const reply = replyText(context, sampled);
  const { limits, penalties, seed } = rollout;
  const shared = { dialogue, environments, task, limits, penalties, seed, split: mode.split, prompt, member, instance };
  const applied = yield* applyReply({ ...shared, ...position, isCut: sampled.finish === "length" }, reply);
  const { requests, invalid, outcome, reading, results, success, view, ...recordFields } = applied;
  const thought = thoughtOf(context, sampled, reading);
  const record: Turn = { prompt: update.recordedPrompt, sampled, state: shown, reply, ...thought, ...recordFields };
  const result: TurnResult = {
    record,
    canonical: reading.canonical,
    ...{ view, success, invalid, outcome, results },
    ...(requests === undefined ? {} : { requests }),
  };
  return result;
});
