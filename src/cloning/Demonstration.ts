/**
 * Demonstrations: episodes played by a solver (or at random) in the policy's own prompt template, as the records a rollout leaves, so
 * that cloning trains on exactly the ids the policy will meet. Enters: a source and a number; leaves: an episode, or null where the
 * source cannot play that instance. Pure in (run seed, source, number).
 */
import type { Episode, Turn } from "../domain/Episode.ts";
import { type Random, type StreamKey, stream } from "../domain/Random.ts";
import type { BoundEnvironment } from "../envs/BoundEnvironment.ts";
import type { View } from "../envs/Environments.ts";
import type { Tokenizer } from "../policy/tokenizer/Tokenizer.ts";
import { bridge, start } from "../rollout/episode.ts";
import type { Rollout } from "../rollout/Rollout.ts";
import type { Task } from "../rollout/Task.ts";

export interface Source {
  readonly task: Task;
  readonly environment: BoundEnvironment;
  readonly player: "solver" | "random";
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

const viewOf = (environment: BoundEnvironment, state: unknown): View => ({
  state,
  observation: environment.render(state),
  compact: environment.compact(state),
  actions: environment.actions(state),
  contentKey: environment.contentKey(state),
});

const randomPlan = (
  environment: BoundEnvironment,
  state: unknown,
  length: number,
  random: Random,
): readonly string[] => {
  const legal = environment.actions(state) ?? [];
  return legal.length === 0 ? [] : Array.from({ length }, () => random.pick(legal));
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
  entropy: 0,
  finish: "stop",
});

const joined = (parts: readonly Int32Array[]): Int32Array => {
  const all = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** Episode `number` of a source; its turns are the ones to clone, turns of noise lie inside the next turn's prompt. */
export const demonstrate = (demonstrator: Demonstrator, source: Source, number: number): Episode | null => {
  const { rollout, tokenizer, seed } = demonstrator;
  const { environment, task, player } = source;
  const { limits, template } = rollout;
  const key = (purpose: StreamKey["purpose"], ...counters: number[]): Random =>
    stream({ seed, purpose, counters: [number, ...counters] });
  let state = environment.reset(key("cloning", 0), "train");
  let view = viewOf(environment, state);
  if (demonstrator.excluded(view.contentKey)) return null;
  const choices = key("cloning", 1);
  const turns: Turn[] = [];
  let append = start(rollout, task, number, view).opening;
  let length = 0;
  let left = task.maxActions;
  let success = false;
  for (let turn = 1; turn <= limits.max_turn && left > 0; turn++) {
    const room = Math.min(limits.max_actions_per_turn, left);
    const noisy = turn < limits.max_turn && choices.uniform() < demonstrator.noise;
    const plan =
      noisy || player === "random"
        ? randomPlan(environment, state, room, choices)
        : (environment.solve?.(state) ?? null);
    if (plan === null || plan.length === 0) break;
    const actions = plan.slice(0, room);
    const reply = replyText(rollout, environment.thought(state, plan), actions);
    const ids = tokenizer.encode(reply.slice(template.prefix.length));
    if (length + append.length + ids.length > limits.max_model_len) break;
    const noise = key("noise", turn);
    let executed = 0;
    let reward = 0;
    let over = false;
    for (const action of actions) {
      const transition = environment.step(state, action, noise);
      state = transition.state;
      reward += transition.reward;
      executed++;
      success = transition.info.success;
      over = transition.terminated || transition.truncated;
      if (over) break;
    }
    left -= executed;
    if (!noisy) {
      const shown = { prompt: append, sampled: silent(ids), state: template.state(view), reply, parsed: true };
      turns.push({ ...shown, actions, executed, reward, penalty: 0, info: {} });
    }
    if (over) break;
    length += append.length + ids.length;
    view = viewOf(environment, state);
    const moment = { view, turn: turn + 1, actionsLeft: left };
    const between = bridge(rollout, silent(ids), template.next(task, moment, { reward, executed, invalid: false }));
    append = noisy ? joined([append, ids, between]) : between;
  }
  if (turns.length === 0) return null;
  return {
    id: { group: number, member: 0 },
    tag: task.tag,
    seed: number,
    turns,
    outcome: success ? { _tag: "Done", success } : { _tag: "Truncated", reason: "max_turn", success },
  };
};
