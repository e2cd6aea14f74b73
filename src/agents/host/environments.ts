/** Environments of the run file's presets for agents: the instance and the noise of an episode's group, as a run without an agent plays them. */
import type { StreamKey } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../../env/contract/BoundEnvironment.ts";
import type { View } from "../../env/contract/Environments.ts";
import type { RegistryModule } from "../../env/contract/Preset.ts";
import { prepare } from "../../env/contract/prepare.ts";
import type { Answer } from "../../env/contract/Request.ts";
import { answer } from "../../env/pool/answer.ts";
import { instanceKey } from "../../rollout/keys.ts";
import type { EpisodeOrder } from "./AgentHost.ts";
import type { RunnerSetup } from "./messages.ts";

/** A state as an agent sees it. */
export interface Observation {
  readonly text: string;
  /** The short text for small models. */
  readonly compact: string;
  /** The legal actions; null for free text. */
  readonly actions: readonly string[] | null;
}

/** The state after actions, and what they earned. */
export interface ActionResult extends Observation {
  /** Sum of the rewards of the executed actions. */
  readonly reward: number;
  /** The environment ended the episode. */
  readonly done: boolean;
  readonly success: boolean;
  /** Number of actions that were carried out. */
  readonly executed: number;
}

/** One episode in an environment. */
export interface PlayedEnvironment {
  readonly observation: Observation;
  /** Carries out actions until the episode ends. Rejects where the environment fails. */
  readonly step: (actions: readonly string[]) => Promise<ActionResult>;
}

const observationOf = ({ actions, compact, observation }: View): Observation => ({
  text: observation,
  compact,
  actions,
});

const failureOf = (answered: Answer): Error =>
  new Error("message" in answered ? `environment: ${answered.message}` : "environment: no such preset");

/** Loads environments by their tags, each once in this thread. */
export const environmentLoader = ({ presets, registry }: RunnerSetup) => {
  const loaded = new Map<string, Promise<BoundEnvironment>>();
  const load = async (tag: string): Promise<BoundEnvironment> => {
    const preset = presets[tag];
    if (preset === undefined) throw new Error(`environment: ${tag} is no preset of custom_envs`);
    const module: RegistryModule = await import(registry);
    const decoded = module.decodePreset(tag, preset, await module.loadRegistry([preset.env_type]));
    if (decoded._tag === "Failure") throw new Error(`environment: ${tag} cannot be used`);
    if (decoded.success.asynchronous)
      throw new Error(`environment: ${tag} is asynchronous, so that no thread can play it`);
    await prepare(tag, decoded.success);
    return decoded.success;
  };
  return (tag: string): Promise<BoundEnvironment> => {
    const found = loaded.get(tag) ?? load(tag);
    loaded.set(tag, found);
    return found;
  };
};

/** Resets the environment of `tag` for an episode. */
export const playEnvironment = (
  tag: string,
  environment: BoundEnvironment,
  { noise, seed, split }: Pick<EpisodeOrder, "noise" | "seed" | "split">,
): PlayedEnvironment => {
  const environments = new Map([[tag, environment]]);
  const reset = answer(environments, { _tag: "Reset", reset: { tag, instance: instanceKey(seed), split } });
  if (reset._tag !== "View") throw failureOf(reset);
  let { state } = reset.view;
  let turn = 0;
  return {
    observation: observationOf(reset.view),
    step: async (actions) => {
      turn++;
      const key: StreamKey = { ...noise, counters: [...noise.counters, turn] };
      const answered = answer(environments, { _tag: "Step", step: { tag, state, actions, noise: key } });
      if (answered._tag !== "Stepped") throw failureOf(answered);
      const { executed, reward, success, terminated, truncated, view } = answered.result;
      ({ state } = view);
      return { ...observationOf(view), reward, done: terminated || truncated, success, executed };
    },
  };
};
