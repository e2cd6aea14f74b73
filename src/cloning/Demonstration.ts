/**
 * Demonstrations: episodes played by a solver (or at random) in the policy's own prompt template, recorded as a rollout records them, so
 * that cloning trains on exactly the ids the policy will be shown. A demonstration is a pure function of (run seed, source, number): an
 * episode, null where the source cannot play that instance, or the failure of its environment.
 */
import type { Episode, Turn } from "../domain/Episode.ts";
import { type Random, type StreamKey, stream } from "../domain/Random.ts";
import type { BoundEnvironment } from "../env/BoundEnvironment.ts";
import type { StepFailure, StepResult, View } from "../env/Environments.ts";
import { answer } from "../env/pool/answer.ts";
import type { Tokenizer } from "../policy/tokenizer/Tokenizer.ts";
import type { Head } from "../rollout/Chats.ts";
import { bridge, byTurn, firstShown, fits, joined, opened, type Played as Past } from "../rollout/context.ts";
import { start } from "../rollout/episode.ts";
import { parse } from "../rollout/parse.ts";
import type { Rollout } from "../rollout/Rollout.ts";
import type { Task } from "../rollout/Task.ts";
import type { PastTurn } from "../rollout/Template.ts";
import { grammarOf } from "../rollout/turn.ts";

export interface Source {
  readonly task: Task;
  readonly environment: BoundEnvironment;
  readonly player: "solver" | "random";
  /**
   * Share of the solver's turns that are played at random and are targets all the same: a demonstrator that errs. It cannot err in free
   * text, where there is nothing to draw from.
   */
  readonly mistakes: number;
}

export interface Demonstrator {
  readonly rollout: Rollout;
  readonly tokenizer: Pick<Tokenizer, "encode">;
  /** Share of turns played at random and left out of the targets. */
  readonly noise: number;
  readonly seed: number;
  /** Whether an instance must not be shown (validation). */
  readonly excluded: (contentKey: string) => boolean;
}

const randomPlan = (legal: readonly string[], length: number, random: Random): readonly string[] =>
  legal.length === 0 ? [] : Array.from({ length }, () => random.pick(legal));

/** What the solver plays, or one action of the adviser's where there is no solver; null where neither knows. */
const planOf = ({ advise, solve }: BoundEnvironment, state: unknown): readonly string[] | null => {
  if (solve !== null) return solve(state);
  const action = advise?.(state) ?? null;
  return action === null ? null : [action];
};

/** The whole reply a plan becomes: thought and answer. */
export const replyText = (rollout: Rollout, thought: string, actions: readonly string[]): string => {
  const answer = `<answer>${actions.join(` ${rollout.limits.action_sep} `)}</answer>`;
  return rollout.limits.enable_think ? `<think>${thought}</think>${answer}` : answer;
};

const silent = (ids: Int32Array): Turn["sampled"] => ({
  ids,
  mu: new Float32Array(ids.length),
  versions: new Int32Array(ids.length),
  entropies: new Float32Array(ids.length),
  finish: "stop",
});

/** An episode of a source as it is being played. */
interface Game {
  readonly demonstrator: Demonstrator;
  readonly source: Source;
  readonly environments: ReadonlyMap<string, BoundEnvironment>;
  /** Key of a stream of this episode. */
  readonly key: (purpose: StreamKey["purpose"], ...counters: number[]) => StreamKey;
  /** Draws which turns are played at random, and their actions. */
  readonly choices: Random;
  readonly head: Head;
}

/** Where an episode stands before a turn. */
interface Position {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  /** Ids to append to the history before the reply. */
  readonly append: Int32Array;
  /** Ids of the history before `append`. */
  readonly length: number;
  readonly actionsLeft: number;
  /** Where each turn is a token sequence of its own: the turns before, and the first one that the turn before was shown. */
  readonly history: readonly Past[];
  readonly from: number;
}

interface Played {
  readonly record: Turn;
  /** Played at random and no target. */
  readonly noisy: boolean;
  readonly result: StepResult;
  /** The first turn that it was shown. */
  readonly from: number;
}

/** The plan of a turn, and whether it is noise; null where there is nothing to play. */
const choose = ({ choices, demonstrator, source }: Game, { turn, view }: Position, room: number) => {
  const listed = view.actions !== null;
  const { limits } = demonstrator.rollout;
  const noisy = listed && turn < limits.max_turn && choices.uniform() < demonstrator.noise;
  const random = noisy || source.player === "random" || (listed && choices.uniform() < source.mistakes);
  const plan = random ? randomPlan(view.actions ?? [], room, choices) : planOf(source.environment, view.state);
  return plan === null || plan.length === 0 ? null : { plan, noisy };
};

/**
 * Ids before the reply, and the first turn that they show; null where there is no room for the reply. Of summaries, only those of facts can
 * be shown: the policy's are its own.
 */
const shownIn = ({ demonstrator: { rollout }, head, source: { task } }: Game, position: Position) => {
  const { limits, template } = rollout;
  const { append, from: before, history, length, turn } = position;
  if (!byTurn(limits)) return fits(limits, length + append.length) ? { prompt: append, from: 1 } : null;
  const scene = { rollout, task, system: head.system, opening: head.opening, history, now: position };
  const last = limits.overflow === "end" ? firstShown(limits, turn, before) : turn;
  for (let from = firstShown(limits, turn, before); from <= last; from++) {
    const outOfSight = limits.summary === "facts" ? history.slice(0, from - 1) : [];
    const summary = outOfSight.length === 0 ? "" : template.facts(outOfSight.map(({ told }) => told));
    const prompt = opened(scene, from, summary);
    if (fits(limits, prompt.length)) return { prompt, from };
  }
  return null;
};

/** Plays one turn; null where the episode ends before it: no room for a reply, or nothing to play. */
const takeTurn = (game: Game, position: Position): Played | StepFailure | null => {
  const { demonstrator, environments, key, source } = game;
  const { rollout, tokenizer } = demonstrator;
  const { limits, template } = rollout;
  const { actionsLeft, turn, view } = position;
  const seen = shownIn(game, position);
  if (seen === null) return null;
  const room = Math.min(limits.max_actions_per_turn, actionsLeft);
  const chosen = choose(game, position, room);
  if (chosen === null) return null;
  const { noisy, plan } = chosen;
  const actions = plan.slice(0, room);
  const reply = replyText(rollout, source.environment.thought(view.state, plan), actions);
  const ids = tokenizer.encode(reply.slice(template.prefix.length));
  if (ids.length > limits.response_length) return null;
  const step = { tag: source.task.tag, state: view.state, actions, noise: key("noise", turn) };
  const answered = answer(environments, { _tag: "Step", step });
  if (answered._tag === "StepFailure") return answered;
  if (answered._tag !== "Stepped") return null;
  const { executed, reward } = answered.result;
  const shown = { prompt: seen.prompt, sampled: silent(ids), state: template.state(view), reply, parsed: true };
  const record = { ...shown, actions, executed, reward, penalty: 0, info: {} };
  return { noisy, result: answered.result, record, from: seen.from };
};

/** A turn as later prompts tell of it. */
const told = (game: Game, position: Position, { record, result }: Played): PastTurn => {
  const { rollout } = game.demonstrator;
  const { actions, executed, reply, reward } = record;
  return {
    moment: position,
    reply: parse(reply, grammarOf({ rollout, task: game.source.task })).canonical,
    actions: actions.slice(0, executed),
    effective: result.info.action_is_effective ?? 0,
    reward,
    executed,
    invalid: false,
  };
};

/** Where the episode stands after a turn; in a chat, the ids of noise become part of the next turn's prompt. */
const following = (game: Game, position: Position, played: Played): Position => {
  const { demonstrator, source } = game;
  const { from, noisy, record, result } = played;
  const { rollout } = demonstrator;
  const { view, executed, reward } = result;
  const { sampled } = record;
  const turn = position.turn + 1;
  const actionsLeft = position.actionsLeft - executed;
  const user = rollout.template.next(source.task, { view, turn, actionsLeft }, { reward, executed, invalid: false });
  const between = bridge(rollout, sampled, user);
  const append = noisy ? joined([position.append, sampled.ids, between]) : between;
  const length = noisy ? position.length : position.length + position.append.length + sampled.ids.length;
  const past = byTurn(rollout.limits) ? [{ told: told(game, position, played), sampled, bridge: between }] : [];
  return { turn, view, append, length, actionsLeft, from, history: [...position.history, ...past] };
};

/** Episode `number` of a source; its turns are the ones to clone, turns of noise lie inside the next turn's prompt. */
export const demonstrate = (
  demonstrator: Demonstrator,
  source: Source,
  number: number,
): Episode | StepFailure | null => {
  const { rollout, seed } = demonstrator;
  const { environment, task } = source;
  const environments = new Map([[task.tag, environment]]);
  const key: Game["key"] = (purpose, ...counters) => ({ seed, purpose, counters: [number, ...counters] });
  const instance = key("cloning", 0);
  const reset = answer(environments, { _tag: "Reset", reset: { tag: task.tag, instance, split: "train" } });
  if (reset._tag === "StepFailure") return reset;
  if (reset._tag !== "View" || demonstrator.excluded(reset.view.contentKey)) return null;
  const { view } = reset;
  const head = start(rollout, task, number, view);
  const game: Game = { demonstrator, source, environments, key, choices: stream(key("cloning", 1)), head };
  const turns: Turn[] = [];
  const begun = { turn: 1, view, append: head.opening, length: 0, actionsLeft: task.maxActions };
  let position: Position = { ...begun, from: 1, history: [] };
  let success = false;
  while (position.turn <= rollout.limits.max_turn && position.actionsLeft > 0) {
    const played = takeTurn(game, position);
    if (played === null) break;
    if ("_tag" in played) return played;
    if (!played.noisy) turns.push(played.record);
    success = played.result.success;
    if (played.result.terminated || played.result.truncated) break;
    position = following(game, position, played);
  }
  if (turns.length === 0) return null;
  return {
    id: { group: number, member: 0 },
    tag: task.tag,
    seed: number,
    sequences: byTurn(rollout.limits) ? turns.map((turn) => ({ turns: [turn] })) : [{ turns }],
    outcome: success ? { _tag: "Done", success } : { _tag: "Truncated", reason: "max_turn", success },
  };
};
