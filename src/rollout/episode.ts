/**
 * One episode, played turn by turn as a sequential program until it ends. Invariants: the ids sent and sampled, end to end, are the whole history (nothing is rendered or encoded twice); the
 * policy's sequence and the last state are released however the episode ends; a failed step is an outcome, a failed engine fails the effect.
 *
 * A history that would outgrow `max_model_len`, reply included, ends the episode: dropping its oldest turns would change the text
 * under the tokens already sampled, and cost a prefill of the rest.
 */
import { Effect } from "effect";
import type { Episode, Outcome, Sampled, Turn } from "../domain/Episode.ts";
import type { EnvironmentError, PolicyError } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import { Environments, type View } from "../env/Environments.ts";
import { Policy } from "../policy/generation/Policy.ts";
import { inSpan, tracing } from "../stage/spanned.ts";
import { truncated } from "./answer.ts";
import { sequenceId } from "./keys.ts";
import type { Mode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { type Game, type Position, type Taken, takeTurn } from "./turn.ts";

/** What the members of a group share: the instance and the ids that open the chat about it. */
export interface Start {
  readonly task: Task;
  readonly seed: number;
  readonly view: View;
  readonly opening: Int32Array;
  readonly sharedPrefix: number;
}

/** From this many members on, one prefill of a whole opening costs less than a prefill of each beside a shared system message. */
const sharingSize = 4;

const commonPrefix = (a: Int32Array, b: Int32Array): number => {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
};

/**
 * Encodes the opening of a group's episodes, `size` of them. Its shared prefix is all of it where the group is large, else the system
 * message, which other groups show too.
 */
export const start = (rollout: Rollout, task: Task, seed: number, view: View, size = 1): Start => {
  const { chat, template } = rollout;
  const { system, user } = template.opening(task, { view, turn: 1, actionsLeft: task.maxActions });
  const opening = chat.opening(system, user, template.prefix);
  let sharedPrefix = 0;
  if (size >= sharingSize) sharedPrefix = opening.length;
  else if (system !== "") sharedPrefix = commonPrefix(opening, chat.opening(system, "", template.prefix));
  return { task, seed, view, opening, sharedPrefix };
};

/** Ids that lead from a reply to the next one. An end token the reply lacks (it was cut, or a stop sequence ended it) is forced. */
export const bridge = ({ chat, template }: Rollout, sampled: Sampled, user: string): Int32Array => {
  const between = chat.bridge(user, template.prefix);
  if (sampled.ids.at(-1) === chat.endId) return between;
  const forced = new Int32Array(between.length + 1);
  forced[0] = chat.endId;
  forced.set(between, 1);
  return forced;
};

/** Where an episode stands after a turn that did not end it. */
const following = ({ rollout, task }: Game, position: Position, taken: Taken): Position => {
  const { invalid, record, success, view } = taken;
  const { executed, reward, sampled } = record;
  const turn = position.turn + 1;
  const actionsLeft = position.actionsLeft - executed;
  const user = rollout.template.next(task, { view, turn, actionsLeft }, { reward, executed, invalid });
  const append = bridge(rollout, sampled, user);
  const length = position.length + record.prompt.length + sampled.ids.length;
  return { turn, view, append, length, actionsLeft, success };
};

/** Whether the history, reply included, may outgrow the context. */
const tooLong = ({ rollout: { limits } }: Game, { append, length }: Position): boolean =>
  length + append.length + limits.response_length > limits.max_model_len;

/** Plays member `member` of the prompt's group. */
export const play: (
  rollout: Rollout,
  mode: Mode,
  prompt: Prompt,
  start: Start,
  member: number,
) => Effect.Effect<Episode, PolicyError | EnvironmentError, Policy | Environments> = Effect.fnUntraced(function* (
  rollout,
  mode,
  prompt,
  { opening, seed, sharedPrefix, task, view },
  member,
) {
  const policy = yield* Policy;
  const environments = yield* Environments;
  const sequence = sequenceId(mode.split, prompt, member);
  const instance = view.contentKey;
  const game: Game = { policy, environments, rollout, mode, prompt, member, task, instance, sequence, sharedPrefix };
  const traced = yield* tracing;
  const turns: Turn[] = [];
  const ended = (outcome: Outcome, { view }: Pick<Position, "view">): Episode => {
    const episode = { id: { group: prompt.group, member }, tag: prompt.tag, seed, sequences: [{ turns }], outcome };
    const known = turns.length > 0 && outcome._tag !== "Failed";
    return known ? { ...episode, final: rollout.template.state(view) } : episode;
  };

  let position: Position = { turn: 1, view, append: opening, length: 0, actionsLeft: task.maxActions, success: false };
  // What the episode holds outside this process is released by the last state it was given.
  let { state } = view;
  const loop = Effect.gen(function* () {
    for (;;) {
      if (tooLong(game, position)) return ended(truncated("context", position.success), position);
      const attributes = { member, turn: position.turn };
      const taken = yield* traced ? inSpan(takeTurn(game, position), "turn", attributes) : takeTurn(game, position);
      turns.push(taken.record);
      state = taken.view.state;
      if (taken.outcome !== null) return ended(taken.outcome, taken);
      if (position.turn === rollout.limits.max_turn) return ended(truncated("max_turn", taken.success), taken);
      position = following(game, position, taken);
    }
  });
  return yield* loop.pipe(
    Effect.ensuring(policy.release(sequence)),
    Effect.ensuring(Effect.suspend(() => environments.release(prompt.tag, state))),
  );
});
