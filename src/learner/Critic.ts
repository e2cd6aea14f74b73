/**
 * The critic in training: the policy's trunk with a value head. The value of a token is that of the text before it, which is the state it
 * was sampled in.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type CreditedBatch, type TokenBatch } from "../domain/Batch.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { initialiseFrom, type Parameters, parametersOf, selectFrozen } from "../model/graphs/Parameters.ts";
import { frozenCriticParameters, trainedCriticParameters } from "../model/graphs/TrainedParameters.ts";
import { tokenWeights } from "./batches.ts";
import { freeArrays, type Lanes, type Pass } from "./lanes/Lanes.ts";
import { runInto, scalarOf, splitIntoMicros } from "./microInputs.ts";
import { criticModel, passOptions, valuesModel } from "./models.ts";
import { Network, type NetworkResources } from "./Network.ts";
import { type Moments, skippedStep } from "./optimiser/AdamW.ts";
import type { CriticStep, TrainedCritic } from "./TrainedPolicy.ts";

/** The device is that of the lanes, the base that of the policy's adapter. */
export interface CriticOptions extends NetworkResources {
  readonly critic: RunConfig["critic"];
  /** The critic cuts windows, makes passes and aggregates losses by the policy's keys. */
  readonly actor: RunConfig["actor"];
  /** The passes run on these lanes, which the caller still owns and closes. */
  readonly lanes: Lanes;
}

/** Returns the critic's trunk: the policy's, or its first `critic.layers` layers. */
export const criticConfig = (
  config: DecoderConfig,
  { layers }: Pick<RunConfig["critic"], "layers">,
): DecoderConfig => ({
  ...config,
  layers: layers === 0 ? config.layers : Math.min(layers, config.layers),
});

/** Copies the policy's trunk (or adapter) and adds a head of zeros, so that a new critic's values are 0. */
export const criticFrom = (config: DecoderConfig, policy: Parameters<ArrayBufferLike>): Parameters => {
  const specs = trainedCriticParameters(config);
  return initialiseFrom(specs, policy, parametersOf(specs));
};

export class Critic implements TrainedCritic {
  readonly network: Network;
  readonly #options: CriticOptions;
  readonly #step: Pass<"loss", "values">;
  readonly #values: Pass<never, "values">;

  private constructor(
    network: Network,
    options: CriticOptions,
    step: Pass<"loss", "values">,
    values: Pass<never, "values">,
  ) {
    this.network = network;
    this.#options = options;
    this.#step = step;
    this.#values = values;
  }

  static async open(
    config: DecoderConfig,
    parameters: Parameters,
    options: CriticOptions,
    moments?: Moments,
  ): Promise<Critic> {
    const { actor, base, critic, device, deviceBase, lanes } = options;
    const pass = passOptions(actor);
    const adamw = {
      betas: critic.betas,
      eps: critic.eps,
      weightDecay: critic.weight_decay,
      gradClip: critic.grad_clip,
    };
    const criticBase = base && { ...base, frozen: selectFrozen(base.frozen, frozenCriticParameters(config)) };
    const network = await Network.open(parameters, adamw, moments, {
      base: criticBase,
      device,
      deviceBase,
    });
    const model = criticModel(config, critic.cliprange_value, network.specs, pass);
    const step = await lanes.pass({
      model,
      trained: network.specs,
      sumsOnDevice: true,
      sums: ["loss"],
      rows: ["values"],
    });
    const values = await lanes.pass({ model: valuesModel(config, pass), trained: [], sums: [], rows: ["values"] });
    return new Critic(network, options, step, values);
  }

  /** Returns the value of every trained token, [tokens], 0 elsewhere. */
  async values(batch: TokenBatch): Promise<Float32Array> {
    const values = new Float32Array(batch.ids.length);
    const inputs = splitIntoMicros(batch, allSequences(batch), this.#options.actor);
    await runInto(this.#values, this.network, inputs, "values", values);
    return values;
  }

  /**
   * Returns the gradient of the mini-batch's loss, summed over micro-batches; null for an empty mini-batch. Writes the values into
   * `predicted` [tokens].
   */
  async gradient(
    batch: CreditedBatch,
    mini: readonly number[],
    predicted: Float32Array,
  ): Promise<{ readonly gradients: readonly Float32Array[]; readonly loss: number } | null> {
    const { actor } = this.#options;
    const weights = tokenWeights(batch, mini, actor.loss_agg_mode);
    const arrays = { old: batch.values, returns: batch.returns, weights };
    const inputs = splitIntoMicros(batch, mini, actor, arrays);
    const totals = await runInto(this.#step, this.network, inputs, "values", predicted);
    return totals === null ? null : { gradients: totals.gradients, loss: scalarOf(totals.sums.loss) };
  }

  /** Takes one optimiser step over the mini-batch `mini`. Writes the values before the step into `predicted` [tokens]. */
  async step(batch: CreditedBatch, mini: readonly number[], lr: number, predicted: Float32Array): Promise<CriticStep> {
    const gradient = await this.gradient(batch, mini, predicted);
    if (gradient === null) return { loss: 0, ...skippedStep(null) };
    const result = Number.isFinite(gradient.loss)
      ? await this.network.step(gradient.gradients, lr)
      : skippedStep("loss");
    freeArrays(gradient.gradients);
    return { loss: gradient.loss, ...result };
  }

  async close(): Promise<void> {
    await this.network.close();
  }
}
