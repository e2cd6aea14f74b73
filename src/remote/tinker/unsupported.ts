/**
 * Finds what a training server cannot do for a run file, by the server's known traits. Each problem is one line that names a key, its value
 * and the nearest valid one.
 */

import { problemIf } from "../../config/checks/Check.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { lead } from "../../domain/PipelineMode.ts";
import type { TinkerServerName } from "../../domain/TinkerServer.ts";
import { type Reduction, type SamplingSessions, serverTraits } from "./serverTraits.ts";

/** The server's traits for a run: the run file's settings replace the known ones. */
export interface RunTraits {
  readonly name: TinkerServerName;
  readonly reduction: Reduction;
  readonly sessions: SamplingSessions;
}

const findUnknownTraits = (config: RunConfig, name: TinkerServerName): readonly string[] => {
  const { reduction, sessions } = config.model.learner;
  const traits = serverTraits[name];
  const line = (key: string, choices: string) =>
    `model.learner.${key}: auto: it is not known of ${traits.title}; expected ${choices}, or its name as model.learner.server`;
  return [
    ...problemIf(reduction === "auto" && traits.reduction === null, () => line("reduction", "sum or mean")),
    ...problemIf(sessions === "auto" && traits.sessions === null, () => line("sessions", "newest or snapshots")),
  ];
};

const findAdapterProblems = ({ model: { learner } }: RunConfig, name: TinkerServerName): readonly string[] => {
  const { choosesLayers, title, trains } = serverTraits[name];
  const { rank, train_attn, train_mlp, train_unembed } = learner.lora;
  const fixed = [
    ["train_attn", train_attn, true],
    ["train_mlp", train_mlp, true],
    ["train_unembed", train_unembed, false],
  ] as const;
  return [
    ...problemIf(
      trains === "adapters" && rank === 0,
      () => `model.learner.lora.rank: 0: ${title} trains adapters only; nearest: 32`,
    ),
    ...problemIf(
      trains === "weights" && rank !== 0,
      () => `model.learner.lora.rank: ${rank}: ${title} trains all weights only; nearest: 0`,
    ),
    ...(choosesLayers || rank === 0 ? [] : fixed).flatMap(([key, value, does]) =>
      problemIf(
        value !== does,
        () =>
          `model.learner.lora.${key}: ${value}: ${title} does not read it, and does as with ${does}; nearest: ${does}`,
      ),
    ),
  ];
};

/** Adam's constants of a server that follows the learning rate alone. */
const serverAdam = { betas: "0.9, 0.999", eps: "1e-8", weight_decay: "0.01" } as const;

const findAdamProblems = (
  config: RunConfig,
  name: TinkerServerName,
  section: "actor" | "critic",
): readonly string[] => {
  const { adam: follows, title } = serverTraits[name];
  const { betas, eps, grad_clip, weight_decay } = config[section];
  const [beta1, beta2] = betas;
  return [
    ...problemIf(
      follows.length === 0 && grad_clip !== 1,
      () =>
        `${section}.grad_clip: ${grad_clip}: ${title} clips by its own max_grad_norm, 1 unless it was started with another; nearest: 1`,
    ),
    ...problemIf(
      follows.length > 0 && grad_clip !== 0 && !follows.includes("grad_clip"),
      () =>
        `${section}.grad_clip: ${grad_clip}: ${title} does not clip gradients when it is asked to, and tells their norm only after the step; nearest: 0`,
    ),
    ...problemIf(
      !follows.includes("betas") && (beta1 !== 0.9 || beta2 !== 0.999),
      () =>
        `${section}.betas: [${beta1}, ${beta2}]: ${title} takes the learning rate alone; nearest: [${serverAdam.betas}]`,
    ),
    ...problemIf(
      !follows.includes("eps") && eps !== 1e-8,
      () => `${section}.eps: ${eps}: ${title} takes the learning rate alone; nearest: ${serverAdam.eps}`,
    ),
    ...problemIf(
      !follows.includes("weight_decay") && weight_decay !== 0.01,
      () =>
        `${section}.weight_decay: ${weight_decay}: ${title} takes the learning rate alone; nearest: ${serverAdam.weight_decay}`,
    ),
  ];
};

export const hasCritic = ({ algorithm }: RunConfig): boolean => algorithm.adv_estimator === "gae";

const findCriticProblems = (config: RunConfig, name: TinkerServerName): readonly string[] => {
  if (!hasCritic(config)) return [];
  const { critic: trains, title } = serverTraits[name];
  if (!trains) {
    return [
      `algorithm.adv_estimator: gae: it needs a critic, and ${title} trains the policy alone; nearest: grpo, or gae on SkyRL-Train with FSDP`,
    ];
  }
  const { layers } = config.critic;
  return [
    ...findAdamProblems(config, name, "critic"),
    ...problemIf(layers > 0, () => `critic.layers: ${layers}: ${title}'s critic has all layers; nearest: 0`),
  ];
};

/** Returns the problems of a run file at the server `name`. */
export const findUnsupported = (config: RunConfig, name: TinkerServerName): readonly string[] => {
  const { sessions: setting } = config.model.learner;
  const { max_staleness: maxStaleness, mode } = config.pipeline;
  const { sessions, title } = serverTraits[name];
  const sessionKind = setting === "auto" ? sessions : setting;
  return [
    ...findUnknownTraits(config, name),
    ...findAdapterProblems(config, name),
    ...findAdamProblems(config, name, "actor"),
    ...findCriticProblems(config, name),
    ...problemIf(
      sessionKind === "newest" && lead({ mode, maxStaleness }) > 0 && config.model.generator.engine === "tinker",
      () =>
        `pipeline.mode: async: ${title} samples rightly from its newest weights alone, and groups of this run would begin with older ones; nearest: sync, or model.learner.sessions=snapshots where another engine samples for it`,
    ),
  ];
};

/** The server's traits under the run file; `findUnsupported` has refused unknown ones. */
export const runTraits = ({ model: { learner } }: RunConfig, name: TinkerServerName): RunTraits => {
  const { reduction, sessions } = serverTraits[name];
  return {
    name,
    reduction: learner.reduction === "auto" ? (reduction ?? "sum") : learner.reduction,
    sessions: learner.sessions === "auto" ? (sessions ?? "newest") : learner.sessions,
  };
};
