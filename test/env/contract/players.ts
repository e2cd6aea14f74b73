/** Scripted and random episodes of a pure environment, and of either kind, waiting for each transition. */
import { type Random, stream } from "../../../src/domain/Random.ts";
import type { AnyEnvironment, BoundEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../../src/env/contract/Environment.ts";
import {
  instanceOf,
  noiseOf,
  type PlayedEpisode,
  playEpisode,
  randomAction,
} from "../../../src/env/validate/players.ts";

export { instanceOf, noiseOf, type PlayedEpisode };

/** A test player's choice of an action. */
export type Act = (state: unknown, random: Random) => string;

/** Actions from a start state until they run out or the episode ends. */
export const play = (
  environment: BoundEnvironment,
  start: unknown,
  actions: readonly string[],
  noise: (at: number) => Random,
): PlayedEpisode => {
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
  const executed = actions.slice(0, transitions.length);
  return { actions: executed, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};

/** Uniformly among the actions that are legal in the state. */
const anyLegal = (environment: AnyEnvironment): Act => {
  const act = randomAction(environment);
  return (state, random) => {
    const action = environment.actions(state) === null ? null : act(state, random);
    if (action === null) throw new Error(`${environment.type} has free-text actions: it needs an act of its own`);
    return action;
  };
};

/** One random episode of member `member` in the group of `seed`, of `count` actions at most. */
export const playRandomly = (
  environment: BoundEnvironment,
  seed: number,
  member: number,
  count: number,
  split: Split = "train",
  act: Act = anyLegal(environment),
): PlayedEpisode => {
  const choices = stream({ seed, purpose: "play", counters: [member] });
  let state = environment.reset(instanceOf(seed), split);
  const transitions: Transition<unknown, BaseInfo>[] = [];
  const actions: string[] = [];
  while (actions.length < count) {
    const action = act(state, choices);
    const transition = environment.step(state, action, noiseOf(seed, member, actions.length));
    actions.push(action);
    transitions.push(transition);
    state = transition.state;
    if (transition.terminated || transition.truncated) break;
  }
  const reward = transitions.reduce((sum, transition) => sum + transition.reward, 0);
  return { actions, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};

/** The same on an environment of either kind, waiting for each transition; the last state is released. */
export const playWaiting = (
  environment: AnyEnvironment,
  seed: number,
  member: number,
  count: number,
  signal: AbortSignal,
  act: Act = anyLegal(environment),
): Promise<PlayedEpisode> => playEpisode(environment, { act, seed, member, maxActions: count }, signal);
