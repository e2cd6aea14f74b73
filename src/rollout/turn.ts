/**
 * One turn of an episode: generate a reply, read it, step the environment. Invariants: a failed step is the episode's outcome; a failed
 * engine fails the effect.
 */
import { Effect } from "effect";
import type { Sampled, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Environments, View } from "../env/contract/Environments.ts";
import type { Policy } from "../generation/Policy.ts";
import { type Answered, answer } from "./answer.ts";
import { withoutEnd } from "./context.ts";
import { samplingKey } from "./keys.ts";
import type { Reading } from "./parse.ts";
import type { Mode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { idsWithin } from "./thought.ts";

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
}

/** Where an episode stands before a turn. */
export interface Position {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  readonly actionsLeft: number;
  readonly success: boolean;
}

/** What the model is shown before the reply. */
export interface Showing {
  /** Ids to append to the chat that is open in the generator; all of a new one. */
  readonly append: Int32Array;
  /** Ids at the start of a new chat that other chats have too. */
  readonly sharedPrefix: number;
  /** Ids before the reply in the token sequence it is trained in. */
  readonly recorded: Int32Array;
  /** Whether the next turn may go on the chat; if not, its caches are released as soon as the reply is there. */
  readonly kept: boolean;
}

/** What a turn comes to. */
export interface Taken extends Pick<Answered, "view" | "success" | "invalid" | "outcome"> {
  readonly record: Turn;
  /** The reply in canonical form. */
  readonly canonical: string;
}

/** The reply as text, its generation prefix put back and its end token left out. */
const replyText = (rollout: Rollout, sampled: Sampled): string =>
  rollout.template.prefix + rollout.decode(withoutEnd(rollout, sampled));

/** The ids of the thought, as an entry of the turn's record. */
const thoughtOf = ({ pieces, template }: Rollout, { ids }: Sampled, { span }: Reading): Pick<Turn, "thought"> => {
  if (span === null) return {};
  const shown = template.prefix.length;
  const thought = idsWithin(pieces(ids), [span[0] - shown, span[1] - shown]);
  return thought === undefined ? {} : { thought };
};

const generate = (game: Game, { turn }: Position, { append, kept, sharedPrefix }: Showing) => {
  const { member, mode, policy, prompt, rollout, sequence } = game;
  const reply = policy.generate({
    sequence,
    append,
    sharedPrefix,
    maxTokens: rollout.limits.response_length,
    sampling: mode.sampling,
    key: samplingKey(rollout.seed, mode.split, prompt, member, turn),
    pin: mode.pin,
  });
  return kept ? reply : Effect.tap(reply, () => policy.release(sequence));
};

/** Plays one turn from `position`. */
export const takeTurn = Effect.fnUntraced(function* (game: Game, position: Position, showing: Showing) {
  const { environments, instance, member, mode, prompt, rollout, task } = game;
  const { actionsLeft, success, turn, view } = position;
  const sampled = yield* generate(game, position, showing);
  const reply = replyText(rollout, sampled);
  const { limits, penalties, seed } = rollout;
  const asked = { environments, task, limits, penalties, seed, split: mode.split, prompt, member, instance };
  const answered = yield* answer({ ...asked, turn, view, actionsLeft, success }, reply);
  const { invalid, outcome, reading, success: succeeded, view: after, ...came } = answered;
  const state = rollout.template.state(view);
  const thought = thoughtOf(rollout, sampled, reading);
  const record: Turn = { prompt: showing.recorded, sampled, state, reply, ...thought, ...came };
  const taken: Taken = { record, canonical: reading.canonical, view: after, success: succeeded, invalid, outcome };
  return taken;
});
