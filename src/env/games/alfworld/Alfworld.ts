/**
 * ALFWorld (Shridhar et al. 2021): household tasks in a text world, played by an OpenEnv server. The observation lists the admissible actions;
 * any other text costs a step in which nothing happens. A task that is done earns `score`; the engine's step limit truncates. Invariant:
 * success is the engine's `won`. Unlike in RAGEN, an action that the engine answers with "Nothing happens." is not effective.
 */
import { Schema } from "effect";
import { field, reward } from "../../../config/field.ts";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../contract/Environment.ts";
import { decodeOrThrow } from "../../openenv/Channel.ts";
import { connectionKeys, maxRequestMs } from "../../openenv/Connection.ts";
import { lacksServer } from "../../openenv/health.ts";
import type { Payload } from "../../openenv/Protocol.ts";
import * as RemoteEpisode from "../../openenv/RemoteEpisode.ts";
import { keyOf, shortened } from "../../openenv/readPayload.ts";
import { renderMode } from "../GridText.ts";

/** `env_config`; keys and defaults are RAGEN's. The server has the games and the file that lists them (RAGEN's `config_file`). */
export const AlfworldConfig = Schema.Struct({
  ...connectionKeys("http://127.0.0.1:8002"),
  score: field(reward, 10, "Reward of a task that is done."),
  eval_dataset: field(
    Schema.Literals(["eval_in_distribution", "eval_out_of_distribution"]),
    "eval_in_distribution",
    "Set of games that validation plays; training plays the set train.",
  ),
  render_mode: renderMode,
});
export type AlfworldConfig = typeof AlfworldConfig.Type;

interface GameScreen {
  readonly text: string;
  readonly admissible: readonly string[];
}

export interface AlfworldState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  /** The task, in the words of the first observation. */
  readonly task: string;
  readonly scene: GameScreen;
  /** True if the task was done when the game ended; null before. */
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
): { readonly scene: GameScreen; readonly won: boolean } => {
  const decodedScene = decodeOrThrow(decodeScene(observation), JSON.stringify(observation), url);
  return {
    scene: { text: decodedScene.text, admissible: decodedScene.admissible_commands },
    won: decodedScene.won ?? false,
  };
};

/** The engine's answer to an action that cannot be done. */
const hasNothingHappened = (text: string): boolean => /^\s*nothing happens/i.test(text);

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

/** The transition without effect, of a text that the server refuses or of an action after the end. */
const unchangedTransition = (state: AlfworldState, valid: boolean): Transition<AlfworldState, BaseInfo> => ({
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
  if (state.won !== null) return unchangedTransition(state, valid);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, { action }, noise, signal, {
    shown: scene,
    first: (payload) => sceneOf(config, payload).scene,
    next: (payload) => ({ ...sceneOf(config, payload), done: payload.done ?? false }),
  });
  if (answer === null) return unchangedTransition({ ...state, episode }, false);
  const { done, scene: after, won } = answer;
  const ended = done || won;
  return {
    state: { ...state, episode, scene: after, won: ended ? won : null },
    reward: won ? config.score : 0,
    terminated: won,
    truncated: ended && !won,
    info: { success: won, action_is_effective: !hasNothingHappened(after.text), action_is_valid: valid },
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
  /** The compact text is the task and the last observation; the admissible actions are too many for a small model. */
  compact: (_config, { scene, task }) => shortened(task === "" ? scene.text : `task: ${task} seen: ${scene.text}`),
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { contentKey }) => contentKey,
  capacity: ({ capacity }) => capacity,
  timeoutMs: maxRequestMs,
  lacks: (config) =>
    lacksServer(config, "an ALFWorld server there (src/env/games/alfworld/server.py is one, over alfworld)"),
};
