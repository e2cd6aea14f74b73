/**
 * Plays one episode turn by turn, as a sequential program, until it ends. Invariants: nothing is rendered or encoded twice, so a chat's ids
 * are exactly those the model saw; the policy's sequence and the last state are released however the episode ends; a failed step is an
 * outcome, a failed engine fails the effect.
 *
 * A history that would outgrow `max_model_len`, reply included, ends the episode, or loses its oldest turns (`rollout.overflow`). The
 * latter costs a prefill of the rest, and begins a new token sequence.
 */
import { Effect } from "effect";
import type { Episode, Outcome } from "../domain/Episode.ts";
import type { EnvironmentError, PolicyError } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import { Environments, type View } from "../env/contract/Environments.ts";
import { inSpan, tracing } from "../flow/spanned.ts";
import { Policy } from "../generation/Policy.ts";
import { truncatedOutcome } from "./applyReply.ts";
import { type ChatOpening, Chats } from "./Chats.ts";
import { commonPrefix, openingMessages } from "./context.ts";
import { sequenceId } from "./keys.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { type EpisodeContext, type EpisodeState, playTurn, type TurnResult } from "./turn.ts";

/** The start that a group's members share: the instance, and the ids that open the chat about it. */
export interface EpisodeStart extends ChatOpening {
  readonly task: Task;
  readonly seed: number;
  readonly view: View;
}

/** From this many members on, one prefill of a whole opening costs less than a prefill of each beside a shared system message. */
export const sharingSize = 4;

/**
 * Encodes the opening of a group's episodes, `size` of them. Its shared prefix is all of it where the group is large, else the system
 * message, which other groups show too.
 */
export const start = (rollout: Rollout, task: Task, seed: number, view: View, size = 1): EpisodeStart => {
  const { chat, template } = rollout;
  const { system, user } = openingMessages(rollout, task, { view, turn: 1, actionsLeft: task.maxActions });
  const opening = chat.opening(system, user, template.prefix);
  let sharedPrefix = 0;
  if (size >= sharingSize) sharedPrefix = opening.length;
  else if (system !== "") sharedPrefix = commonPrefix(opening, chat.opening(system, "", template.prefix));
  return { task, seed, view, system, opening, sharedPrefix };
};

/** The state after a turn that did not end the episode. */
const nextState = ({ turn, ...position }: EpisodeState, { record, success, view }: TurnResult): EpisodeState => ({
  turn: turn + 1,
  view,
  actionsLeft: position.actionsLeft - record.executed,
  success,
});

/** Plays member `member` of the prompt's group. */
export const play: (
  rollout: Rollout,
  mode: PlayMode,
  prompt: Prompt,
  start: EpisodeStart,
  member: number,
) => Effect.Effect<Episode, PolicyError | EnvironmentError, Policy | Environments> = Effect.fnUntraced(
  function* (rollout, mode, prompt, start, member) {
    const { seed, task, view } = start;
    const policy = yield* Policy;
    const environments = yield* Environments;
    const sequence = sequenceId(mode.split, prompt, member);
    const instance = view.contentKey;
    const context: EpisodeContext = { policy, environments, rollout, mode, prompt, member, task, instance, sequence };
    const chats = new Chats(context, start);
    const traced = yield* tracing;
    let turnsPlayed = 0;
    const episodeEnding = (outcome: Outcome, { view }: Pick<EpisodeState, "view">): Episode => {
      const { sequences } = chats;
      const episode = { id: { group: prompt.group, member }, tag: prompt.tag, seed, sequences, outcome };
      const isFinalKnown = turnsPlayed > 0 && outcome._tag !== "Failed";
      return isFinalKnown ? { ...episode, final: rollout.template.state(view) } : episode;
    };

    let current: EpisodeState = { turn: 1, view, actionsLeft: task.maxActions, success: false };
    // The newest state releases whatever the episode holds outside this process.
    let { state } = view;
    const loop = Effect.gen(function* () {
      for (;;) {
        const update = yield* chats.show(current);
        if (update === null) return episodeEnding(truncatedOutcome("context", current.success), current);
        const attributes = { member, turn: current.turn };
        const turn = playTurn(context, current, update);
        const result: TurnResult = yield* traced ? inSpan(turn, "turn", attributes) : turn;
        chats.add(result);
        turnsPlayed++;
        state = result.view.state;
        if (result.outcome !== null) return episodeEnding(result.outcome, result);
        if (current.turn === rollout.limits.max_turn)
          return episodeEnding(truncatedOutcome("max_turn", result.success), result);
        const next = nextState(current, result);
        chats.startNextTurn(current, result, next);
        current = next;
      }
    });
    return yield* loop.pipe(
      Effect.ensuring(policy.release(sequence)),
      Effect.ensuring(Effect.suspend(() => environments.release(prompt.tag, state))),
    );
  },
);
