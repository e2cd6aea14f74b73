/** The models that a run opens, each built once for a decoder's sizes: plans of the same models under other batch sizes share them. */
import type { RunConfig } from "../../config/RunConfig.ts";
import { criticConfig } from "../../learner/Critic.ts";
import {
  actorModel,
  cloningModel,
  criticModel,
  passOptions,
  policyLossOptions,
  valuesModel,
} from "../../learner/models.ts";
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";
import { extendModel, prefillModel, stepModel } from "../../model/graphs/Decode.ts";
import { scoreModel } from "../../model/graphs/Score.ts";
import { trainedCriticParameters, trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

export type ModelName = "actor" | "cloning" | "critic" | "values" | "score" | "prefill" | "extend" | "step";

/** A loss of the user's own is planned as PPO's, which has about as many nodes: no module is loaded to predict memory. */
const plannedLoss = ({ actor, algorithm }: Pick<RunConfig, "actor" | "algorithm">) =>
  policyLossOptions(actor.policy_loss === "custom" ? { ...actor, policy_loss: "ppo" } : actor, algorithm);

const build = (name: ModelName, decoder: DecoderConfig, config: RunConfig): OnnxModel => {
  const { actor, critic, model } = config;
  switch (name) {
    case "actor":
      return actorModel(decoder, plannedLoss(config), trainedParameters(decoder), passOptions(actor));
    case "cloning":
      return cloningModel(decoder, trainedParameters(decoder), passOptions({ ...actor, use_prefix_grouper: false }));
    case "critic":
      return criticModel(
        criticConfig(decoder, critic),
        critic.cliprange_value,
        trainedCriticParameters(criticConfig(decoder, critic)),
        passOptions(actor),
      );
    case "values":
      return valuesModel(criticConfig(decoder, critic), passOptions(actor));
    case "score":
      return scoreModel(decoder, passOptions(actor));
    case "prefill":
      return prefillModel(decoder, model.generator_dtype);
    case "extend":
      return extendModel(decoder, model.generator_dtype);
    case "step":
      return stepModel(decoder, model.generator_dtype);
  }
};

export class Models {
  readonly #built = new Map<string, OnnxModel>();

  /** The model `name` of a run with these keys over a decoder of these sizes. */
  get(name: ModelName, decoder: DecoderConfig, config: RunConfig): OnnxModel {
    const { actor, critic, model } = config;
    const options = [plannedLoss(config), passOptions(actor), critic.layers, model.generator_dtype];
    const key = JSON.stringify([name, decoder, options]);
    const cached = this.#built.get(key);
    if (cached !== undefined) return cached;
    const built = build(name, decoder, config);
    this.#built.set(key, built);
    return built;
  }
}
