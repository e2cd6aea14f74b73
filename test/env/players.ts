/** Players without a model: scripted and uniformly random episodes on a bound environment. */
import { type Random, stream } from "../../src/domain/Random.ts";
import type { AnyEnvironment, BoundEnvironment } from "../../src/env/BoundEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../src/env/Environment.ts";

export const instanceOf = (seed: number): Random => stream({ seed, purpose: "instance", counters: [] });
export const noiseOf = (seed: number, member: number, at: number): Random =>
  stream({ seed, purpose: "noise", counters: [member, at] });

export interface Played {
  /** The actions that were executed. */
  readonly actions: readonly string[];
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
  const executed = actions.slice(0, transitions.length);
  return { actions: executed, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};

/** How a player without a model chooses an action; tests of free-text environments give their own. */
export type Act = (state: unknown, random: Random) => string;

/** Uniformly among the actions that are legal in the state. */
const anyLegal =
  (environment: AnyEnvironment): Act =>
  (state, random) => {
    const names = environment.actions(state);
    if (names === null) throw new Error(`${environment.type} has free-text actions: it needs an act of its own`);
    return random.pick(names);
  };

/** One random episode of member `member` in the group of `seed`, of `count` actions at most. */
export const playRandomly = (
  environment: BoundEnvironment,
  seed: number,
  member: number,
  count: number,
  split: Split = "train",
  act: Act = anyLegal(environment),
): Played => {
  const choices = stream({ seed, purpose: "play", counters: [member] });
  let state = environment.reset(instanceOf(seed), split);
  let reward = 0;
  const actions: string[] = [];
  const transitions: Transition<unknown, BaseInfo>[] = [];
  while (actions.length < count) {
    const action = act(state, choices);
    const transition = environment.step(state, action, noiseOf(seed, member, actions.length));
    actions.push(action);
    transitions.push(transition);
    state = transition.state;
    reward += transition.reward;
    if (transition.terminated || transition.truncated) break;
  }
  return { actions, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};

/** The same on an environment of either kind, waiting for each transition; the last state is released. */
export const playWaiting = async (
  environment: AnyEnvironment,
  seed: number,
  member: number,
  count: number,
  signal: AbortSignal,
  act: Act = anyLegal(environment),
): Promise<Played> => {
  const choices = stream({ seed, purpose: "play", counters: [member] });
  let state = await environment.reset(instanceOf(seed), "train", signal);
  let reward = 0;
  const actions: string[] = [];
  const transitions: Transition<unknown, BaseInfo>[] = [];
  while (actions.length < count) {
    const action = act(state, choices);
    const transition = await environment.step(state, action, noiseOf(seed, member, actions.length), signal);
    actions.push(action);
    transitions.push(transition);
    state = transition.state;
    reward += transition.reward;
    if (transition.terminated || transition.truncated) break;
  }
  if (environment.asynchronous) await environment.release?.(state);
  return { actions, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};
