/**
 * One turn of an episode: generate a reply, read it, step the environment. Invariants: a failed step is the episode's outcome; a failed
 * engine fails the effect.
 */
import { Effect } from "effect";
import type { Outcome, Sampled, TruncationReason, Turn } from "../domain/Episode.ts";
import type { Prompt } from "../domain/Group.ts";
import type { Environments, StepFailure, StepResult, View } from "../env/Environments.ts";
import type { Policy } from "../policy/generation/Policy.ts";
import { mapActions } from "./actions.ts";
import { noiseKey, samplingKey } from "./keys.ts";
import { type Grammar, parse, type Reading } from "./parse.ts";
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
export interface Taken {
  readonly record: Turn;
  /** After the turn; as before it where no action was executed. */
  readonly view: View;
  readonly success: boolean;
  /** No legal action was named. */
  readonly invalid: boolean;
  /** How the turn ended the episode; null where it did not. */
  readonly outcome: Outcome | null;
}

export const truncated = (reason: TruncationReason, success: boolean): Outcome => ({
  _tag: "Truncated",
  reason,
  success,
});

/** The reply as text, its generation prefix put back and its end token left out. */
const replyText = ({ chat, decode, template }: Rollout, { ids }: Sampled): string =>
  template.prefix + decode(ids.at(-1) === chat.endId ? ids.subarray(0, -1) : ids);

/** The ids of the thought, as an entry of the turn's record. */
const thoughtOf = ({ pieces, template }: Rollout, { ids }: Sampled, { span }: Reading): Pick<Turn, "thought"> => {
  if (span === null) return {};
  const shown = template.prefix.length;
  const thought = idsWithin(pieces(ids), [span[0] - shown, span[1] - shown]);
  return thought === undefined ? {} : { thought };
};

const grammarOf = ({ rollout: { limits }, task }: Game): Grammar => ({
  think: limits.enable_think,
  separator: task.wholeAnswer ? null : limits.action_sep,
  maxActions: limits.max_actions_per_turn,
});

const outcomeOf = ({ success, terminated, truncated: cut }: StepResult, actionsLeft: number): Outcome | null => {
  if (terminated) return { _tag: "Done", success };
  if (cut) return truncated("environment", success);
  return actionsLeft <= 0 ? truncated("max_actions", success) : null;
};

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

const step = (game: Game, { turn, view }: Position, actions: readonly string[]) => {
  const { environments, instance, member, mode, prompt, rollout } = game;
  const noise = noiseKey(rollout.seed, mode.split, prompt, member, turn);
  return environments
    .step({ tag: prompt.tag, state: view.state, actions, noise, instance })
    .pipe(Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)));
};

/** Plays one turn from `position`. */
export const takeTurn = Effect.fnUntraced(function* (game: Game, position: Position) {
  const { rollout } = game;
  const { actionsLeft, append, success, view } = position;
  const sampled = yield* generate(game, position);
  const reply = replyText(rollout, sampled);
  const reading = parse(reply, grammarOf(game));
  const { actions, run, penalised, invalid } = mapActions(reading.actions, view.actions, actionsLeft);
  const record: Turn = {
    prompt: append,
    sampled,
    state: rollout.template.state(view),
    reply,
    parsed: reading.parsed,
    ...thoughtOf(rollout, sampled, reading),
    actions,
    penalty: penalised ? rollout.formatPenalty : 0,
    executed: 0,
    reward: 0,
    info: {},
  };
  const unmoved: Taken = { record, view, success, invalid, outcome: null };
  if (run.length === 0) return unmoved;
  const result = yield* step(game, position, run);
  if ("_tag" in result) {
    const outcome: Outcome = { _tag: "Failed", reason: result.reason, message: result.message };
    return { ...unmoved, outcome };
  }
  const { executed, reward, info } = result;
  const taken: Taken = {
    record: { ...record, executed, reward, info },
    view: result.view,
    success: result.success,
    invalid,
    outcome: outcomeOf(result, actionsLeft - executed),
  };
  return taken;
});
