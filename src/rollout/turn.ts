/**
 * One turn of an episode: generate a reply, read it, step the environment. Invariants: a failed step is the episode's outcome; a failed
 * engine fails the effect.
 */
import { Effect } from "effect";
import type { Sampled, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Environments, View } from "../env/Environments.ts";
import type { Policy } from "../policy/generation/Policy.ts";
import { type Answered, answer } from "./answer.ts";
import { samplingKey } from "./keys.ts";
import type { Mode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";

/** What is the same in every turn of an episode. */
export interface Game {
  readonly policy: typeof Policy.Service;
  readonly environments: typeof Environments.Service;
  readonly rollout: Rollout;
  readonly mode: Mode;
  readonly prompt: Prompt;
  readonly member: number;
  readonly task: Task;
  /** Content key of the instance. */
  readonly instance: string;
  /** Key of the episode's caches in the generator. */
  readonly sequence: number;
  /** Ids of the opening that other episodes show too. */
  readonly sharedPrefix: number;
}

/** Where an episode stands before a turn. */
export interface Position {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  /** Ids to append to the history before the reply. */
  readonly append: Int32Array;
  /** Ids of the history so far. */
  readonly length: number;
  readonly actionsLeft: number;
  readonly success: boolean;
}

/** What a turn comes to. */
export interface Taken extends Pick<Answered, "view" | "success" | "invalid" | "outcome"> {
  readonly record: Turn;
}

/** The reply as text, its generation prefix put back and its end token left out. */
const replyText = ({ chat, decode, template }: Rollout, { ids }: Sampled): string =>
  template.prefix + decode(ids.at(-1) === chat.endId ? ids.subarray(0, -1) : ids);

const generate = (game: Game, { append, turn }: Position) => {
  const { member, mode, policy, prompt, rollout, sequence, sharedPrefix } = game;
  return policy.generate({
    sequence,
    append,
    sharedPrefix: turn === 1 ? sharedPrefix : 0,
    maxTokens: rollout.limits.response_length,
    sampling: mode.sampling,
    key: samplingKey(rollout.seed, mode.split, prompt, member, turn),
    pin: mode.pin,
  });
};

/** Plays one turn from `position`. */
export const takeTurn = Effect.fnUntraced(function* (game: Game, position: Position) {
  const { environments, instance, member, mode, prompt, rollout, task } = game;
  const { actionsLeft, append, success, turn, view } = position;
  const sampled = yield* generate(game, position);
  const reply = replyText(rollout, sampled);
  const { formatPenalty, limits, seed } = rollout;
  const asked = { environments, task, limits, formatPenalty, seed, split: mode.split, prompt, member, instance };
  const answered = yield* answer({ ...asked, turn, view, actionsLeft, success }, reply);
  const { actions, executed, info, parsed, penalty, reward, ...after } = answered;
  const state = rollout.template.state(view);
  const record: Turn = {
    prompt: append,
    sampled,
    state,
    reply,
    parsed,
    actions,
    penalty,
    executed,
    reward,
    info,
  };
  const taken: Taken = { ...after, record };
  return taken;
});
