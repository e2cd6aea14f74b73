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
import { type Grammar, parse } from "./parse.ts";
import { hasSwitches, type Judged, penaltiesOf, sumOf } from "./penalties.ts";
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
export interface Taken {
  readonly record: Turn;
  /** The reply in canonical form. */
  readonly canonical: string;
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

/** How the replies of a task are read. */
export const grammarOf = ({ rollout: { limits }, task }: Pick<Game, "rollout" | "task">): Grammar => ({
  think: limits.enable_think,
  separator: task.wholeAnswer ? null : limits.action_sep,
  maxActions: limits.max_actions_per_turn,
});

const outcomeOf = ({ success, terminated, truncated: cut }: StepResult, actionsLeft: number): Outcome | null => {
  if (terminated) return { _tag: "Done", success };
  if (cut) return truncated("environment", success);
  return actionsLeft <= 0 ? truncated("max_actions", success) : null;
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

const step = (game: Game, { turn, view }: Position, actions: readonly string[]) => {
  const { environments, instance, member, mode, prompt, rollout } = game;
  const noise = noiseKey(rollout.seed, mode.split, prompt, member, turn);
  return environments
    .step({ tag: prompt.tag, state: view.state, actions, noise, instance })
    .pipe(Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)));
};

/** The record of a turn with its penalties, and with what they are made of where a switch is on. */
const withPenalties = ({ penalties }: Rollout, record: Turn, judged: Omit<Judged, "executed">): Turn => {
  const parts = penaltiesOf(penalties, { ...judged, executed: record.executed });
  const told = { ...record, penalty: sumOf(parts) };
  return hasSwitches(penalties) ? { ...told, penalties: parts } : told;
};

/** Plays one turn from `position`. */
export const takeTurn = Effect.fnUntraced(function* (game: Game, position: Position, showing: Showing) {
  const { rollout } = game;
  const { actionsLeft, success, view } = position;
  const sampled = yield* generate(game, position, showing);
  const reply = replyText(rollout, sampled);
  const reading = parse(reply, grammarOf(game));
  const { actions, run, penalised, invalid } = mapActions(reading.actions, view.actions, actionsLeft);
  const judged = { reading, penalised };
  const record: Turn = {
    prompt: showing.recorded,
    sampled,
    state: rollout.template.state(view),
    reply,
    parsed: reading.parsed,
    actions,
    penalty: 0,
    executed: 0,
    reward: 0,
    info: {},
  };
  const still = withPenalties(rollout, record, judged);
  const unmoved: Taken = { record: still, canonical: reading.canonical, view, success, invalid, outcome: null };
  if (run.length === 0) return unmoved;
  const result = yield* step(game, position, run);
  if ("_tag" in result) {
    const outcome: Outcome = { _tag: "Failed", reason: result.reason, message: result.message };
    return { ...unmoved, outcome };
  }
  const { executed, reward, info } = result;
  const taken: Taken = {
    record: withPenalties(rollout, { ...record, executed, reward, info }, judged),
    canonical: reading.canonical,
    view: result.view,
    success: result.success,
    invalid,
    outcome: outcomeOf(result, actionsLeft - executed),
  };
  return taken;
});
