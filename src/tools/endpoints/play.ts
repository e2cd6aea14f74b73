/**
 * One episode played by a chat endpoint: the texts, the parser and the environments of training, without token ids. Invariants: the endpoint is
 * shown its own replies as it wrote them; the last state is released however the episode ends.
 */
import { Effect } from "effect";
import type { Outcome } from "../../domain/Episode.ts";
import type { EnvironmentError } from "../../domain/Errors.ts";
import type { Prompt } from "../../domain/Group.ts";
import { Environments, type StepFailure, type View } from "../../env/contract/Environments.ts";
import { type AppliedReply, applyReply, truncatedOutcome } from "../../rollout/applyReply.ts";
import { instanceKey } from "../../rollout/keys.ts";
import type { Rollout } from "../../rollout/Rollout.ts";
import type { Task } from "../../rollout/Task.ts";
import type { PastTurn } from "../../rollout/Template.ts";
import { textDialogue } from "../../rollout/textDialogue.ts";
import type { EvaluatedEpisode, EvaluatedTurn, Message } from "../evaluation/EvaluatedEpisode.ts";
import { type NotPlayed, notPlayed } from "../evaluation/NotPlayed.ts";
import type { EndpointStopped } from "./Chat.ts";
import type { ChatClient } from "./ChatClient.ts";
import { assistantMessage, countedOf, messagesOf, type PlacedReply, TextChats, userMessage } from "./TextChats.ts";

/** The rollout settings that decide an episode, besides the environments and the endpoint. */
export type TextRollout = Pick<Rollout, "tasks" | "template" | "limits" | "penalties" | "seed">;

/**
 * Gives the parser the prefix and the reply. A chat endpoint does not continue the prefix, so it is put back only if the reply does not
 * open the first tag itself.
 */
export const replyOf = (prefix: string, text: string): string => (text.includes(prefix) ? text : prefix + text);

const turnOf = (answered: AppliedReply, { reply, ...where }: PlacedReply, state: string): EvaluatedTurn => {
  const { actions, executed, info, parsed, penalties, penalty, reward } = answered;
  const charged = penalties === undefined ? { penalty } : { penalty, penalties };
  return { actions, executed, reward, ...charged, parsed, info, state, ...where, ...countedOf(reply) };
};

/** The state of an episode before a turn. */
interface EpisodeState {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  readonly actionsLeft: number;
  readonly success: boolean;
  /** The user message since the reply before; null in the first turn. */
  readonly message: string | null;
}

interface EpisodeContext {
  readonly rollout: TextRollout;
  readonly chats: TextChats;
  readonly environments: typeof Environments.Service;
  readonly task: Task;
  readonly prompt: Prompt;
  readonly member: number;
  readonly instance: string;
}

/** The episode as one chat up to its last reply, and its turns so far. It grows as the episode goes on. */
interface Transcript {
  readonly messages: Message[];
  readonly turns: EvaluatedTurn[];
}

interface EpisodeEnd {
  readonly outcome: Outcome;
  readonly view: View;
}

/** The record of a turn for later prompts. */
const pastTurn = (
  position: EpisodeState,
  { actions, executed, info, invalid, reading, reward }: AppliedReply,
): PastTurn => ({
  before: position,
  reply: reading.canonical,
  actions: actions.slice(0, executed),
  effective: info.action_is_effective ?? 0,
  reward,
  executed,
  invalid,
});

/** Plays one turn from `position`: returns the episode's end, or the position after it. */
const takeTurn = Effect.fnUntraced(function* (
  context: EpisodeContext,
  position: EpisodeState,
  { messages, turns }: Transcript,
) {
  const { chats, environments, instance, member, prompt, rollout, task } = context;
  const { limits, penalties, seed, template } = rollout;
  const { success, turn, view } = position;
  const placed = yield* chats.ask(position);
  if (placed === null) return { outcome: truncatedOutcome("context", success), view } satisfies EpisodeEnd;
  const { text } = placed.reply;
  const shared = { dialogue: textDialogue, environments, task, limits, penalties, seed, prompt, member, instance };
  const isCut = placed.reply.finish === "length";
  const answered = yield* applyReply({ ...shared, ...position, split: "val", isCut }, replyOf(template.prefix, text));
  messages.push(...(position.message === null ? [] : [userMessage(position.message)]), assistantMessage(text));
  turns.push(turnOf(answered, placed, template.state(view)));
  if (answered.outcome !== null) return { outcome: answered.outcome, view: answered.view } satisfies EpisodeEnd;
  if (turn === limits.max_turn) {
    return { outcome: truncatedOutcome("max_turn", answered.success), view: answered.view } satisfies EpisodeEnd;
  }
  const next = { turn: turn + 1, view: answered.view, actionsLeft: position.actionsLeft - answered.executed };
  const { executed, invalid, reward } = answered;
  const message = template.next(task, next, { reward, executed, invalid });
  chats.add(pastTurn(position, answered), text, message);
  const following: EpisodeState = { ...next, success: answered.success, message };
  return following;
});

/**
 * Plays member `member` of the prompt's group. An episode that cannot be played to an end is a `NotPlayed`; fails where nothing more can be played.
 */
export const play: (
  rollout: TextRollout,
  client: ChatClient,
  prompt: Prompt,
  member: number,
) => Effect.Effect<EvaluatedEpisode | NotPlayed, EndpointStopped | EnvironmentError, Environments> = Effect.fnUntraced(
  function* (rollout, client, prompt, member) {
    const environments = yield* Environments;
    const { group, seed, tag } = prompt;
    const key = { group, tag, seed, member };
    const task = rollout.tasks.get(tag);
    if (task === undefined) return notPlayed(key, "no_preset", `no preset ${tag}`);
    const request = { tag, instance: instanceKey(seed), split: "val" } as const;
    const start = yield* environments
      .reset(request)
      .pipe(Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)));
    if ("_tag" in start) return notPlayed(key, start.reason, start.message);
    const first = { turn: 1, view: start, actionsLeft: task.maxActions };
    const chats = new TextChats(rollout, task, client, first);
    const context: EpisodeContext = { rollout, chats, environments, task, prompt, member, instance: start.contentKey };
    const transcript: Transcript = { messages: [...messagesOf(rollout.template.opening(task, first))], turns: [] };
    let { state } = start;
    const loop = Effect.gen(function* () {
      let position: EpisodeState = { ...first, success: false, message: null };
      for (;;) {
        const turnResult: EpisodeState | EpisodeEnd = yield* takeTurn(context, position, transcript);
        state = turnResult.view.state;
        if ("outcome" in turnResult) return turnResult;
        position = turnResult;
      }
    });
    const evaluated = Effect.map(loop, ({ outcome, view }): EvaluatedEpisode | NotPlayed => {
      if (outcome._tag === "Failed") return notPlayed(key, outcome.reason, outcome.message);
      const { summaries } = chats;
      return {
        ...key,
        ...transcript,
        summaries,
        contentKey: start.contentKey,
        outcome,
        final: rollout.template.state(view),
      };
    });
    return yield* evaluated.pipe(
      Effect.catchTag("Unanswered", ({ message, reason }) => Effect.succeed(notPlayed(key, reason, message))),
      Effect.ensuring(Effect.suspend(() => environments.release(tag, state))),
    );
  },
);
