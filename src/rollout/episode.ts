/**
 * One episode, as a sequential program: show, generate, read, step, until it ends. Enters: a prompt, its shared reset; leaves: an
 * `Episode`. Invariants: the ids sent and sampled, end to end, are the whole history (nothing is rendered or encoded twice); the
 * policy's sequence and the last state are released however the episode ends; a failed step is an outcome, a failed engine fails the
 * effect.
 *
 * A history that would outgrow `max_model_len`, reply included, ends the episode: dropping its oldest turns would change the text
 * under the tokens already sampled, and cost a prefill of the rest.
 */
import { Effect } from "effect";
import type { Episode, Outcome, Sampled, TruncationReason, Turn } from "../domain/Episode.ts";
import type { EnvironmentError, PolicyError } from "../domain/Errors.ts";
import type { Prompt } from "../domain/Group.ts";
import { Environments, type StepFailure, type View } from "../env/Environments.ts";
import { Policy } from "../policy/generation/Policy.ts";
import { mapActions } from "./actions.ts";
import { noiseKey, samplingKey, sequenceId } from "./keys.ts";
import { parse } from "./parse.ts";
import type { Mode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import type { Previous } from "./Template.ts";

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

/** The reply as text, its generation prefix put back and its end token left out. */
const replyText = ({ chat, decode, template }: Rollout, { ids }: Sampled): string =>
  template.prefix + decode(ids.at(-1) === chat.endId ? ids.subarray(0, -1) : ids);

const truncated = (reason: TruncationReason, success: boolean): Outcome => ({ _tag: "Truncated", reason, success });

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
  { opening, seed, sharedPrefix, task, view: firstView },
  member,
) {
  const policy = yield* Policy;
  const environments = yield* Environments;
  const { limits, template } = rollout;
  const grammar = {
    think: limits.enable_think,
    separator: task.wholeAnswer ? null : limits.action_sep,
    maxActions: limits.max_actions_per_turn,
  };
  const sequence = sequenceId(mode.split, prompt, member);
  const turns: Turn[] = [];
  const ended = (outcome: Outcome): Episode => ({
    id: { group: prompt.group, member },
    tag: prompt.tag,
    seed,
    sequences: [{ turns }],
    outcome,
  });

  // What the episode may hold elsewhere, it holds by the last state it was given.
  let { state } = firstView;
  const loop = Effect.gen(function* () {
    let view = firstView;
    let append = opening;
    let length = 0;
    let actionsLeft = task.maxActions;
    let success = false;
    for (let turn = 1; ; turn++) {
      if (length + append.length + limits.response_length > limits.max_model_len) {
        return ended(truncated("context", success));
      }
      const sampled = yield* policy.generate({
        sequence,
        append,
        sharedPrefix: turn === 1 ? sharedPrefix : 0,
        maxTokens: limits.response_length,
        sampling: mode.sampling,
        key: samplingKey(rollout.seed, mode.split, prompt, member, turn),
        pin: mode.pin,
      });
      length += append.length + sampled.ids.length;

      const reply = replyText(rollout, sampled);
      const reading = parse(reply, grammar);
      const { actions, run, penalised, invalid } = mapActions(reading.actions, view.actions, actionsLeft);
      const shown = {
        prompt: append,
        sampled,
        state: template.state(view),
        reply,
        parsed: reading.parsed,
        actions,
        penalty: penalised ? rollout.formatPenalty : 0,
      };
      if (run.length === 0) {
        turns.push({ ...shown, executed: 0, reward: 0, info: {} });
      } else {
        const noise = noiseKey(rollout.seed, mode.split, prompt, member, turn);
        const result = yield* environments
          .step({ tag: prompt.tag, state: view.state, actions: run, noise })
          .pipe(Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)));
        if ("_tag" in result) {
          turns.push({ ...shown, executed: 0, reward: 0, info: {} });
          return ended({ _tag: "Failed", reason: result.reason, message: result.message });
        }
        turns.push({ ...shown, executed: result.executed, reward: result.reward, info: result.info });
        view = result.view;
        state = view.state;
        success = result.success;
        actionsLeft -= result.executed;
        if (result.terminated) return ended({ _tag: "Done", success });
        if (result.truncated) return ended(truncated("environment", success));
        if (actionsLeft <= 0) return ended(truncated("max_actions", success));
      }
      if (turn === limits.max_turn) return ended(truncated("max_turn", success));
      const { reward, executed } = turns[turns.length - 1]!;
      const previous: Previous = { reward, executed, invalid };
      append = bridge(rollout, sampled, template.next(task, { view, turn: turn + 1, actionsLeft }, previous));
    }
  });
  return yield* loop.pipe(
    Effect.ensuring(policy.release(sequence)),
    Effect.ensuring(Effect.suspend(() => environments.release(prompt.tag, state))),
  );
});
