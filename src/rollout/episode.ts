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
import { Environments, type StepFailure, type View } from "../env/contract/Environments.ts";
import { inSpan, tracing } from "../flow/spanned.ts";
import { Policy } from "../generation/Policy.ts";
import { truncatedOutcome } from "./applyReply.ts";
import { Chats } from "./Chats.ts";
import type { ChatOpening, Dialogue } from "./Dialogue.ts";
import { sequenceId } from "./keys.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { openText, textDialogue } from "./textDialogue.ts";
import { type EpisodeContext, type EpisodeState, playTurn, type TurnResult } from "./turn.ts";

/** The start that a group's members share: the instance, and the ids that open the chat about it. */
export interface EpisodeStart extends ChatOpening {
  readonly task: Task;
  readonly dialogue: Dialogue;
  readonly seed: number;
  readonly view: View;
}

/** The start of a group of `size` episodes whose actions are texts. */
export const start = (rollout: Rollout, task: Task, seed: number, view: View, size = 1): EpisodeStart => {
  const first = { view, turn: 1, actionsLeft: task.maxActions };
  return { task, dialogue: textDialogue, seed, view, ...openText(rollout, task, first, size) };
};

/** The state after a turn that did not end the episode. */
const nextState = (
  { dialogue, rollout }: EpisodeContext,
  { turn, ...position }: EpisodeState,
  result: TurnResult,
): EpisodeState => ({
  turn: turn + 1,
  view: result.view,
  shown: dialogue.shownAfter(rollout.template, result),
  actionsLeft: position.actionsLeft - result.record.executed,
  success: result.success,
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
    const { dialogue, seed, task, view } = start;
    const policy = yield* Policy;
    const environments = yield* Environments;
    const sequence = sequenceId(mode.split, prompt, member);
    const instance = view.contentKey;
    const shared = { policy, environments, rollout, mode, prompt, member };
    const context: EpisodeContext = { ...shared, task, dialogue, instance, sequence };
    const chats = new Chats(context, start);
    const traced = yield* tracing;
    const ended = (outcome: Outcome, last: TurnResult | null): Episode => {
      const { sequences } = chats;
      const episode = { id: { group: prompt.group, member }, tag: prompt.tag, seed, sequences, outcome };
      const isFinalKnown = last !== null && outcome._tag !== "Failed";
      return isFinalKnown ? { ...episode, final: dialogue.shownAfter(rollout.template, last) } : episode;
    };

    const shown = rollout.template.state(view);
    let current: EpisodeState = { turn: 1, view, shown, actionsLeft: task.maxActions, success: false };
    let last: TurnResult | null = null;
    // The newest state releases whatever the episode holds outside this process.
    let { state } = view;
    const loop = Effect.gen(function* () {
      for (;;) {
        const update = yield* chats.show(current);
        if (update === null) return ended(truncatedOutcome("context", current.success), last);
        const attributes = { member, turn: current.turn };
        const turn = playTurn(context, current, update);
        const result: TurnResult = yield* traced ? inSpan(turn, "turn", attributes) : turn;
        chats.add(result);
        last = result;
        state = result.view.state;
        if (result.outcome !== null) return ended(result.outcome, result);
        if (current.turn === rollout.limits.max_turn)
          return ended(truncatedOutcome("max_turn", result.success), result);
        const next = nextState(context, current, result);
        yield* chats.startNextTurn(current, result, next);
        current = next;
      }
    });
    return yield* loop.pipe(
      // The chat template cannot write what the environment answered.
      Effect.catchTag("StepFailure", ({ message, reason }: StepFailure) =>
        Effect.succeed(ended({ _tag: "Failed", reason, message }, null)),
      ),
      Effect.ensuring(policy.release(sequence)),
      Effect.ensuring(Effect.suspend(() => environments.release(prompt.tag, state))),
    );
  },
);
