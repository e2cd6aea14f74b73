/**
 * ALFWorld (Shridhar et al. 2021): household tasks in a text world, played by an OpenEnv server. Actions are free text; the observation
 * lists the admissible ones, and another one costs a step in which nothing happens. Reward `score` when the task is done, else 0; the
 * engine's own step limit truncates. Invariant: success is the engine's `won`.
 *
 * The server is told the seed and the set of games (`split`: train, eval_in_distribution or eval_out_of_distribution), and plays the game
 * at seed modulo their number. Its observation has the fields of the engine: `text`, `admissible_commands` and `won`. Differs from RAGEN
 * in that an action to which the engine answers "Nothing happens." is not effective; there every action is.
 */
import { Schema } from "effect";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../contract/Environment.ts";
import { decoded } from "../../openenv/Channel.ts";
import { longestMs } from "../../openenv/Connection.ts";
import { lacking } from "../../openenv/health.ts";
import type { Payload } from "../../openenv/Protocol.ts";
import * as RemoteEpisode from "../../openenv/RemoteEpisode.ts";
import { keyOf, shortened } from "../../openenv/reading.ts";
import { AlfworldConfig } from "./AlfworldConfig.ts";

interface Scene {
  readonly text: string;
  readonly admissible: readonly string[];
}

export interface AlfworldState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  /** What has to be done, in the words of the first observation. */
  readonly task: string;
  readonly scene: Scene;
  /** Whether the task was done when the game ended; null before. */
  readonly won: boolean | null;
}

const SceneObservation = Schema.Struct({
  text: Schema.String,
  admissible_commands: Schema.Array(Schema.String),
  won: Schema.optionalKey(Schema.Boolean),
});
const decodeScene = Schema.decodeUnknownResult(SceneObservation);

const sceneOf = (
  { url }: AlfworldConfig,
  { observation }: Payload,
): { readonly scene: Scene; readonly won: boolean } => {
  const seen = decoded(decodeScene(observation), JSON.stringify(observation), url);
  return { scene: { text: seen.text, admissible: seen.admissible_commands }, won: seen.won ?? false };
};

/** The engine's answer to an action that cannot be done. */
const isVain = (text: string): boolean => /^\s*nothing happens/i.test(text);

const taskIn = (text: string): string => /your task is to:?\s*([^\n]*)/i.exec(text)?.[1]?.trim() ?? "";

const reset = async (
  config: AlfworldConfig,
  random: Random,
  split: Split,
  signal: AbortSignal,
): Promise<AlfworldState> => {
  const instance = {
    seed: RemoteEpisode.seedOf(random),
    split: split === "train" ? "train" : config.eval_dataset,
  };
  const { episode, first } = await RemoteEpisode.reset(
    config,
    instance,
    random,
    signal,
    (payload) => sceneOf(config, payload).scene,
  );
  return { episode, contentKey: keyOf("alfworld", first.text), task: taskIn(first.text), scene: first, won: null };
};

/** A step without effect: the server does not take the text, or the game is over. */
const still = (state: AlfworldState, valid: boolean): Transition<AlfworldState, BaseInfo> => ({
  state,
  reward: 0,
  terminated: state.won === true,
  truncated: state.won === false,
  info: { success: state.won ?? false, action_is_effective: false, action_is_valid: valid },
});

const step = async (
  config: AlfworldConfig,
  state: AlfworldState,
  action: string,
  noise: Random,
  signal: AbortSignal,
): Promise<Transition<AlfworldState, BaseInfo>> => {
  const { scene } = state;
  const valid = scene.admissible.includes(action);
  if (state.won !== null) return still(state, valid);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, { action }, noise, signal, {
    shown: scene,
    first: (payload) => sceneOf(config, payload).scene,
    next: (payload) => ({ ...sceneOf(config, payload), done: payload.done ?? false }),
  });
  if (answer === null) return still({ ...state, episode }, false);
  const { done, scene: after, won } = answer;
  const ended = done || won;
  return {
    state: { ...state, episode, scene: after, won: ended ? won : null },
    reward: won ? config.score : 0,
    terminated: won,
    truncated: ended && !won,
    info: { success: won, action_is_effective: !isVain(after.text), action_is_valid: valid },
  };
};

export const Alfworld: AsyncEnvironment<AlfworldConfig, AlfworldState> = {
  type: "alfworld",
  asynchronous: true,
  config: AlfworldConfig,
  reset,
  step,
  release: (_config, { episode }) => RemoteEpisode.release(episode),
  render: (_config, { scene }) => `${scene.text}\n\nAdmissible actions: [${scene.admissible.join(", ")}]`,
  /** The task, then the last observation; the admissible actions are too many for a small model. */
  compact: (_config, { scene, task }) => shortened(task === "" ? scene.text : `task: ${task} seen: ${scene.text}`),
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { contentKey }) => contentKey,
  capacity: ({ capacity }) => capacity,
  timeoutMs: longestMs,
  lacks: (config) =>
    lacking(config, "an ALFWorld server there (src/env/games/alfworld/server.py is one, over alfworld)"),
};
