/**
 * Requests as rollouts make them, without a model: for an environment and a number of episodes, the resets, and one step for every action
 * played. The actions are the solver's plan, or the adviser's, or else legal ones at random, or else `words`.
 */
import { type StreamKey, stream } from "../src/domain/Random.ts";
import type { AnyEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import type { ResetRequest, StepRequest } from "../src/env/contract/Environments.ts";

export interface Recorded {
  readonly resets: readonly ResetRequest[];
  /** One action each, of states on the way and at the end. */
  readonly steps: readonly StepRequest[];
}

export interface Episodes {
  readonly count: number;
  /** Actions of one at most. */
  readonly actions: number;
  /** Actions of an episode, in order, for an environment of free text without a solver. */
  readonly words: readonly string[];
}

export const record = async (
  tag: string,
  environment: AnyEnvironment,
  { actions: most, count, words }: Episodes,
): Promise<Recorded> => {
  const { signal } = new AbortController();
  const resets: ResetRequest[] = [];
  const steps: StepRequest[] = [];
  await environment.prepare?.();
  for (let seed = 0; seed < count; seed++) {
    const instance: StreamKey = { seed, purpose: "instance", counters: [] };
    resets.push({ tag, instance, split: "train" });
    const choices = stream({ seed, purpose: "play", counters: [] });
    let state = await environment.reset(stream(instance), "train", signal);
    const plan = environment.asynchronous ? null : (environment.solve?.(state) ?? null);
    for (let at = 0; at < most; at++) {
      const legal = environment.actions(state);
      const advised = environment.asynchronous ? null : (environment.advise?.(state) ?? null);
      const word = plan?.[at] ?? advised ?? (legal === null ? words[at] : choices.pick(legal));
      if (word === undefined) break;
      const noise: StreamKey = { seed, purpose: "noise", counters: [0, at, 0] };
      steps.push({ tag, state, actions: [word], noise });
      const transition = await environment.step(state, word, stream(noise), signal);
      state = transition.state;
      if (transition.terminated || transition.truncated) break;
    }
    if (environment.asynchronous) await environment.release?.(state);
  }
  return { resets, steps };
};
