/** Checks of training on a server with the Tinker API. Limits of one kind of server are checked when the server is known. */
import type { RunConfig } from "../RunConfig.ts";
import { showValue } from "../show.ts";
import { type Check, problemIf } from "./Check.ts";

/** PEFT options of the adapter that are not supported. */
export const lora: Check = ({ model }) =>
  problemIf(
    model.lora.dropout !== 0,
    () => `model.lora.dropout: ${model.lora.dropout}: the adapter is trained without dropout; nearest: 0`,
  );

/** True if a server trains, not this process. */
export const isLearnerRemote = ({ learner }: Pick<RunConfig["model"], "learner">): boolean =>
  learner.engine !== "local";

const localLearner: Check = ({ model: { generator, learner } }) => [
  ...problemIf(
    learner.url !== "",
    () =>
      `model.learner.engine: local: it asks no server, and model.learner.url is ${showValue(learner.url)}; nearest: tinker`,
  ),
  ...problemIf(
    generator.engine === "tinker",
    () =>
      "model.generator.engine: tinker: it is the server of model.learner, whose engine is local; nearest: local, or model.learner.engine=tinker",
  ),
];

/** A Tinker server reports log-probabilities only at temperature 1 without truncation. */
const sampling: Check = ({ generation }) => {
  const settings = [
    ["temperature", generation.temperature, 1],
    ["top_k", generation.top_k, -1],
    ["top_p", generation.top_p, 1],
  ] as const;
  return settings.flatMap(([key, value, only]) =>
    problemIf(
      value !== only,
      () =>
        `generation.${key}: ${value}: a Tinker server tells log-probabilities at temperature 1 over all tokens, and the policy is trained at what it was sampled at; nearest: ${only}`,
    ),
  );
};

const loss: Check = ({ actor }) => [
  ...problemIf(
    actor.entropy_coeff !== 0,
    () =>
      `actor.entropy_coeff: ${actor.entropy_coeff}: a bonus of entropy needs all logits, and a Tinker server tells the log-probability of the sampled token; nearest: 0`,
  ),
  ...problemIf(
    actor.ref_update_freq > 0,
    () =>
      `actor.ref_update_freq: ${actor.ref_update_freq}: the reference policy is the server's base model, which stays as it is; nearest: 0`,
  ),
];

const analyses: Check = ({ diagnostics, trainer }) => [
  ...problemIf(
    trainer.gradient_analysis_mode,
    () => "trainer.gradient_analysis_mode: true: a Tinker server keeps its gradients to itself; nearest: false",
  ),
  ...(["first_turn_enabled", "multi_turn_enabled"] as const).flatMap((key) =>
    problemIf(
      diagnostics.collapse[key],
      () =>
        `diagnostics.collapse.${key}: true: it scores thoughts behind each other's prompts, which a Tinker server would do at the price of training; nearest: false`,
    ),
  ),
];

const localModel: Check = ({ model }) => [
  ...problemIf(
    model.lora.rank > 0,
    () =>
      `model.lora.rank: ${model.lora.rank}: it is an adapter of this process, and a server trains; nearest: 0, with model.learner.lora.rank`,
  ),
  ...problemIf(
    model.adapter !== "",
    () => `model.adapter: ${showValue(model.adapter)}: a server starts from its base model; nearest: empty`,
  ),
  ...problemIf(
    model.learner_lanes > 1,
    () => `model.learner_lanes: ${model.learner_lanes}: no thread of this process trains; nearest: 1`,
  ),
];

const remoteLearner: Check = (config) => {
  const { generator, learner } = config.model;
  return [
    ...problemIf(
      learner.url === "",
      () => `model.learner.url: empty: engine=${learner.engine} asks a server; nearest: http://127.0.0.1:8000`,
    ),
    ...problemIf(
      generator.engine === "local",
      () =>
        "model.generator.engine: local: the weights are on the training server, and generator threads have none of them; nearest: tinker",
    ),
    ...problemIf(
      generator.engine === "vllm" || generator.engine === "sglang",
      () =>
        `model.generator.engine: ${generator.engine}: the weights are on the training server, which hands them to engines of its own; nearest: tinker`,
    ),
    ...[sampling, loss, analyses, localModel].flatMap((check) => check(config)),
  ];
};

const keyVariable: Check = ({ model: { learner } }) =>
  // The message omits the value, which may be the secret itself.
  problemIf(
    !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(learner.api_key_env),
    () => "model.learner.api_key_env: expected the name of an environment variable that holds the key, not the key",
  );

export const learner: Check = (config) => [
  ...keyVariable(config),
  ...(isLearnerRemote(config.model) ? remoteLearner(config) : localLearner(config)),
];
