/** Players without a model: scripted and uniformly random episodes on a bound environment. */
import { type Random, stream } from "../../src/domain/Random.ts";
import type { BoundEnvironment } from "../../src/envs/BoundEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../src/envs/Environment.ts";

export const instanceOf = (seed: number): Random => stream({ seed, purpose: "instance", counters: [] });
export const noiseOf = (seed: number, member: number, at: number): Random =>
  stream({ seed, purpose: "noise", counters: [member, at] });

export interface Played {
  readonly transitions: readonly Transition<unknown, BaseInfo>[];
  readonly reward: number;
  readonly success: boolean;
}

/** Actions from a start state until they run out or the episode ends. */
export const play = (
  environment: BoundEnvironment,
  start: unknown,
  actions: readonly string[],
  noise: (at: number) => Random,
): Played => {
  let state = start;
  let reward = 0;
  const transitions: Transition<unknown, BaseInfo>[] = [];
  for (const [at, action] of actions.entries()) {
    const transition = environment.step(state, action, noise(at));
    transitions.push(transition);
    state = transition.state;
    reward += transition.reward;
    if (transition.terminated || transition.truncated) break;
  }
  return { transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};

/** Uniformly random legal actions for member `member` of the group of `seed`. */
export const randomActions = (
  environment: BoundEnvironment,
  start: unknown,
  seed: number,
  member: number,
  count: number,
): string[] => {
  const names = environment.actions(start);
  if (names === null) throw new Error(`${environment.type} has free-text actions`);
  const choice = stream({ seed, purpose: "play", counters: [member] });
  return Array.from({ length: count }, () => choice.pick(names));
};

/** One random episode of member `member` in the group of `seed`. */
export const playRandomly = (
  environment: BoundEnvironment,
  seed: number,
  member: number,
  count: number,
  split: Split = "train",
): Played => {
  const start = environment.reset(instanceOf(seed), split);
  return play(environment, start, randomActions(environment, start, seed, member, count), (at) =>
    noiseOf(seed, member, at),
  );
};
