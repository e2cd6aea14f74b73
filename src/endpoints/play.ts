/**
 * One episode played by a chat endpoint: the texts, the parser and the environments of training, without token ids. Invariants: the endpoint is
 * shown its own replies as it wrote them; the last state is released however the episode ends.
 */
import { Effect } from "effect";
import type { Outcome } from "../domain/Episode.ts";
import type { EnvironmentError } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import { Environments, type StepFailure, type View } from "../env/Environments.ts";
import type { EvaluatedEpisode, EvaluatedTurn, Message } from "../evaluation/EvaluatedEpisode.ts";
import { type NotPlayed, notPlayed } from "../evaluation/NotPlayed.ts";
import { type Answered, answer, truncated } from "../rollout/answer.ts";
import { instanceKey } from "../rollout/keys.ts";
import type { Rollout } from "../rollout/Rollout.ts";
import type { Task } from "../rollout/Task.ts";
import type { ChatReply, EndpointStopped, Unanswered } from "./Chat.ts";
import type { ChatClient } from "./ChatClient.ts";

/** What an episode depends on besides the environments and the endpoint. */
export type TextRollout = Pick<Rollout, "tasks" | "template" | "limits" | "penalties" | "seed">;

/**
 * The reply as the parser reads it. A chat endpoint does not write behind our prefix, so its reply is read as it is; only where it does not open
 * the first tag itself is the prefix put back.
 */
export const replyOf = (prefix: string, text: string): string => (text.includes(prefix) ? text : prefix + text);

const turnOf = (answered: Answered, { finish, usage }: ChatReply): EvaluatedTurn => {
  const { actions, executed, info, parsed, penalty, reward } = answered;
  const counted = { promptTokens: usage?.prompt ?? null, tokens: usage?.reply ?? null, entropy: null };
  return { actions, executed, reward, penalty, parsed, info, finish, ...counted };
};

/** Where an episode stands before a turn. */
interface Position {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  readonly actionsLeft: number;
  readonly success: boolean;
}

interface Game {
  readonly rollout: TextRollout;
  readonly client: ChatClient;
  readonly environments: typeof Environments.Service;
  readonly task: Task;
  readonly prompt: Prompt;
  readonly member: number;
  readonly instance: string;
}

/** The chat so far, and what its turns came to. Filled as the episode goes on. */
interface Course {
  readonly messages: Message[];
  readonly turns: EvaluatedTurn[];
}

interface Ended {
  readonly outcome: Outcome;
  readonly view: View;
}

/** Asks for a reply; null where the chat has become longer than the model takes. */
const asked = (client: ChatClient, messages: readonly Message[]) =>
  client
    .complete(messages)
    .pipe(
      Effect.catchTag("Unanswered", (error: Unanswered) =>
        error.reason === "context" ? Effect.succeed(null) : Effect.fail(error),
      ),
    );

/** How the episode ends at `position`, or where it goes on. */
const takeTurn = Effect.fnUntraced(function* (game: Game, position: Position, { messages, turns }: Course) {
  const { client, environments, instance, member, prompt, rollout, task } = game;
  const { limits, penalties, seed, template } = rollout;
  const { success, turn, view } = position;
  const reply = yield* asked(client, messages);
  if (reply === null) return { outcome: truncated("context", success), view } satisfies Ended;
  const question = { environments, task, limits, penalties, seed, split: "val", prompt, member, instance } as const;
  const answered = yield* answer({ ...question, ...position }, replyOf(template.prefix, reply.text));
  messages.push({ role: "assistant", content: reply.text });
  turns.push(turnOf(answered, reply));
  if (answered.outcome !== null) return { outcome: answered.outcome, view: answered.view } satisfies Ended;
  if (turn === limits.max_turn) {
    return { outcome: truncated("max_turn", answered.success), view: answered.view } satisfies Ended;
  }
  const { executed, invalid, reward } = answered;
  const actionsLeft = position.actionsLeft - executed;
  const next = { turn: turn + 1, view: answered.view, actionsLeft };
  messages.push({ role: "user", content: template.next(task, next, { reward, executed, invalid }) });
  const following: Position = { ...next, success: answered.success };
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
    const game: Game = { rollout, client, environments, task, prompt, member, instance: start.contentKey };
    const first = { turn: 1, view: start, actionsLeft: task.maxActions };
    const { system, user } = rollout.template.opening(task, first);
    const course: Course = {
      messages: [
        ...(system === "" ? [] : [{ role: "system", content: system } as const]),
        { role: "user", content: user },
      ],
      turns: [],
    };
    let { state } = start;
    const loop = Effect.gen(function* () {
      let position: Position = { ...first, success: false };
      for (;;) {
        const taken: Position | Ended = yield* takeTurn(game, position, course);
        state = taken.view.state;
        if ("outcome" in taken) return taken;
        position = taken;
      }
    });
    const played = Effect.map(loop, ({ outcome, view }): EvaluatedEpisode | NotPlayed => {
      if (outcome._tag === "Failed") return notPlayed(key, outcome.reason, outcome.message);
      return { ...key, ...course, contentKey: start.contentKey, outcome, final: rollout.template.state(view) };
    });
    return yield* played.pipe(
      Effect.catchTag("Unanswered", ({ message, reason }) => Effect.succeed(notPlayed(key, reason, message))),
      Effect.ensuring(Effect.suspend(() => environments.release(tag, state))),
    );
  },
);
