/**
 * Demonstrations: episodes played by a solver (or at random) in the policy's own prompt template, as the records a rollout leaves, so
 * that cloning trains on exactly the ids the policy will meet. Enters: a source and a number; leaves: an episode, null where the source
 * cannot play that instance, or the failure of its environment. Pure in (run seed, source, number).
 */
import type { Episode, Turn } from "../domain/Episode.ts";
import { type Random, type StreamKey, stream } from "../domain/Random.ts";
import type { BoundEnvironment } from "../env/BoundEnvironment.ts";
import type { StepFailure } from "../env/Environments.ts";
import { answer } from "../env/pool/answer.ts";
import type { Tokenizer } from "../policy/tokenizer/Tokenizer.ts";
import { bridge, start } from "../rollout/episode.ts";
import type { Rollout } from "../rollout/Rollout.ts";
import type { Task } from "../rollout/Task.ts";

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
export const demonstrate = (
  demonstrator: Demonstrator,
  source: Source,
  number: number,
): Episode | StepFailure | null => {
  const { rollout, tokenizer, seed } = demonstrator;
  const { environment, task, player } = source;
  const { limits, template } = rollout;
  const environments = new Map([[task.tag, environment]]);
  const key = (purpose: StreamKey["purpose"], ...counters: number[]): StreamKey => ({
    seed,
    purpose,
    counters: [number, ...counters],
  });
  const reset = answer(environments, {
    _tag: "Reset",
    reset: { tag: task.tag, instance: key("cloning", 0), split: "train" },
  });
  if (reset._tag === "StepFailure") return reset;
  if (reset._tag !== "View" || demonstrator.excluded(reset.view.contentKey)) return null;
  let { view } = reset;
  const choices = stream(key("cloning", 1));
  const turns: Turn[] = [];
  let append = start(rollout, task, number, view).opening;
  let length = 0;
  let left = task.maxActions;
  let success = false;
  for (let turn = 1; turn <= limits.max_turn && left > 0; turn++) {
    if (length + append.length + limits.response_length > limits.max_model_len) break;
    const room = Math.min(limits.max_actions_per_turn, left);
    const listed = view.actions !== null;
    const noisy = listed && turn < limits.max_turn && choices.uniform() < demonstrator.noise;
    const random = noisy || player === "random" || (listed && choices.uniform() < source.mistakes);
    const plan = random ? randomPlan(view.actions ?? [], room, choices) : planOf(environment, view.state);
    if (plan === null || plan.length === 0) break;
    const actions = plan.slice(0, room);
    const reply = replyText(rollout, environment.thought(view.state, plan), actions);
    const ids = tokenizer.encode(reply.slice(template.prefix.length));
    if (ids.length > limits.response_length) break;
    const step = { tag: task.tag, state: view.state, actions, noise: key("noise", turn) };
    const answered = answer(environments, { _tag: "Step", step });
    if (answered._tag === "StepFailure") return answered;
    if (answered._tag !== "Stepped") break;
    const { result } = answered;
    const { executed, reward } = result;
    if (!noisy) {
      const shown = { prompt: append, sampled: silent(ids), state: template.state(view), reply, parsed: true };
      turns.push({ ...shown, actions, executed, reward, penalty: 0, info: {} });
    }
    success = result.success;
    view = result.view;
    left -= executed;
    if (result.terminated || result.truncated) break;
    length += append.length + ids.length;
    const moment = { view, turn: turn + 1, actionsLeft: left };
    const between = bridge(rollout, silent(ids), template.next(task, moment, { reward, executed, invalid: false }));
    append = noisy ? joined([append, ids, between]) : between;
  }
  if (turns.length === 0) return null;
  return {
    id: { group: number, member: 0 },
    tag: task.tag,
    seed: number,
    sequences: [{ turns }],
    outcome: success ? { _tag: "Done", success } : { _tag: "Truncated", reason: "max_turn", success },
  };
};
