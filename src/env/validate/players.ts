/** Players without a model, for either kind of environment. If the environment is pure, an episode is a pure function of (seed, member). */
import { showValue } from "../../config/show.ts";
import type { Tool } from "../../domain/Conversation.ts";
import { type Random, stream } from "../../domain/Random.ts";
import type { AnyEnvironment } from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../contract/Environment.ts";
import { messageOf } from "../contract/prepare.ts";
import { toolAnswer } from "../contract/tools/ToolAction.ts";
import { callDrawer } from "./drawCall.ts";

export const instanceOf = (seed: number): Random => stream({ seed, purpose: "instance", counters: [] });
export const noiseOf = (seed: number, member: number, at: number): Random =>
  stream({ seed, purpose: "noise", counters: [member, at] });

export interface PlayedEpisode {
  /** The actions that were executed. */
  readonly actions: readonly string[];
  readonly transitions: readonly Transition<unknown, BaseInfo>[];
  readonly reward: number;
  readonly success: boolean;
}

/** The error of a step that threw. Its message names the action, its position in the episode and the seed. */
export class StepFault extends Error {}

/** Names an action of an episode for people. */
export const describeAction = (action: string, seed: number, index: number): string =>
  `action ${index + 1} (${showValue(action)}) of seed ${seed}`;

/** The position of a step: its episode, and the actions before it. */
export interface StepIndex {
  readonly seed: number;
  readonly member: number;
  /** The number of actions before this one. */
  readonly at: number;
}

/** Takes one step of an episode under its own noise. It rejects with `StepFault`. */
export const takeStep = async (
  environment: AnyEnvironment,
  state: unknown,
  action: string,
  { at, member, seed }: StepIndex,
  signal: AbortSignal,
): Promise<Transition<unknown, BaseInfo>> => {
  try {
    return await environment.step(state, action, noiseOf(seed, member, at), signal);
  } catch (cause) {
    throw new StepFault(`${describeAction(action, seed, at)}: ${messageOf(cause)}`, { cause });
  }
};

/** A player's choice of an action; null where it has none. */
export type Act = (state: unknown, random: Random) => string | null;

/** Free texts that a player who knows nothing writes. */
const guesses = ["", "yes", "no", "anything", "A", "B", "0", "1"];

const guess = (words: readonly string[], random: Random): string =>
  random.pick([random.pick(guesses), random.pick(words), `${random.int(100)}`]);

const wordsOf = (environment: AnyEnvironment, state: unknown): readonly string[] =>
  environment.render(state).split(/\s+/).slice(0, 50);

/** Draws three calls for each guessed answer. */
const randomCall = (environment: AnyEnvironment, tools: readonly Tool[]): Act => {
  const calls = callDrawer(tools);
  return (state, random) => {
    const words = wordsOf(environment, state);
    const answer = toolAnswer(guess(words, random), tools);
    return random.uniform() < 0.25 ? answer : (calls.draw(words, random) ?? answer);
  };
};

/**
 * Draws uniformly among the legal actions. If actions are free text, it draws a guess, a word of the observation or a small number; with tools,
 * a call or such an answer.
 */
export const randomAction = (environment: AnyEnvironment): Act => {
  if (environment.tools !== undefined) return randomCall(environment, environment.tools);
  return (state, random) => {
    const names = environment.actions(state);
    if (names !== null) return names.length === 0 ? null : random.pick(names);
    return guess(wordsOf(environment, state), random);
  };
};

export interface EpisodeOptions {
  readonly seed: number;
  readonly member: number;
  readonly maxActions: number;
  readonly act: Act;
  readonly split?: Split;
}

/** Plays one episode of member `member` in the group of `seed`, and releases its last state. */
export const playEpisode = async (
  environment: AnyEnvironment,
  { act, maxActions: count, member, seed, split = "train" }: EpisodeOptions,
  signal: AbortSignal,
): Promise<PlayedEpisode> => {
  const choices = stream({ seed, purpose: "play", counters: [member] });
  let state = await environment.reset(instanceOf(seed), split, signal);
  let reward = 0;
  const actions: string[] = [];
  const transitions: Transition<unknown, BaseInfo>[] = [];
  while (actions.length < count) {
    const action = act(state, choices);
    if (action === null) break;
    const transition = await takeStep(environment, state, action, { seed, member, at: actions.length }, signal);
    actions.push(action);
    transitions.push(transition);
    state = transition.state;
    reward += transition.reward;
    if (transition.terminated || transition.truncated) break;
  }
  if (environment.asynchronous) await environment.release?.(state);
  return { actions, transitions, reward, success: transitions.at(-1)?.info.success ?? false };
};
