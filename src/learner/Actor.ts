/**
 * The policy in training on the learner's own lanes. It scores batches and takes optimiser steps over mini-batches cut into micro-batches.
 * Invariant: it is not re-entrant; the learner's thread runs one command at a time.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import type { TokenBatch } from "../domain/Batch.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import { type MicroTargets, tokenWeights } from "./batches.ts";
import type { CustomParts } from "./CustomParts.ts";
import { freeArrays, type Lanes, type LaneWeights, type Pass } from "./lanes/Lanes.ts";
import { lossDefinition, type PolicyLossOptions } from "./losses/policyLoss.ts";
import { runInto, scalar, scalarOf, splitIntoMicros } from "./microInputs.ts";
import { actorModel, type LossAlgorithm, passOptions, policyLossOptions } from "./models.ts";
import { Network, type NetworkResources } from "./Network.ts";
import { type Moments, skippedStep } from "./optimiser/AdamW.ts";
import type { AdamWOptions } from "./optimiser/adamWModel.ts";
import { openTokenScorer, type TokenScorer } from "./TokenScorer.ts";
import type { PolicyLossParts, PolicyStep, PolicyTargets, TrainedPolicy } from "./TrainedPolicy.ts";

/** Gradient of a mini-batch's loss, and the parts of that loss. */
export interface PolicyGradient extends PolicyLossParts {
  readonly entropy: number;
  /** The order is that of the trained parameters, one array each. */
  readonly gradients: readonly Float32Array[];
}

export const actorOptimiser = (actor: RunConfig["actor"]): AdamWOptions => ({
  betas: actor.betas,
  eps: actor.eps,
  weightDecay: actor.weight_decay,
  gradClip: actor.grad_clip,
});

export interface LossArrayOptions {
  readonly aggregation: RunConfig["actor"]["loss_agg_mode"];
  /** True for a loss that takes means over sequences. */
  readonly bySequence: boolean;
}

export const lossArrayOptions = (
  { loss_agg_mode }: RunConfig["actor"],
  { loss }: PolicyLossOptions,
): LossArrayOptions => ({
  aggregation: loss_agg_mode,
  bySequence: lossDefinition(loss).bySequence === true,
});

/** Returns the arrays that the policy's loss reads for the mini-batch `mini`, under the names of the loss's inputs. */
export const lossArrays = (
  batch: TokenBatch,
  mini: readonly number[],
  { advantages, importance, old, places, reference }: PolicyTargets,
  { aggregation, bySequence }: LossArrayOptions,
) => ({
  old,
  advantages,
  importance,
  weights: tokenWeights(batch, mini, aggregation),
  ...(reference === undefined ? {} : { reference }),
  ...(places === undefined ? {} : { places }),
  ...(bySequence ? { sequences: ({ sequences }: MicroTargets) => sequences } : {}),
});

type Part = "surrogate" | "entropy" | "kl";

export class Actor implements TrainedPolicy {
  readonly network: Network;
  readonly #options: RunConfig["actor"];
  readonly #lossArrays: LossArrayOptions;
  readonly #step: Pass<Part, "logp">;
  readonly #openScorer: () => Promise<TokenScorer>;
  /** The scorer is opened on first use, because clipped PPO against mu scores nothing. */
  #scorer: Promise<TokenScorer> | undefined;

  private constructor(
    network: Network,
    options: RunConfig["actor"],
    loss: PolicyLossOptions,
    step: Pass<Part, "logp">,
    openScorer: () => Promise<TokenScorer>,
  ) {
    this.network = network;
    this.#options = options;
    this.#lossArrays = lossArrayOptions(options, loss);
    this.#step = step;
    this.#openScorer = openScorer;
  }

  /** Opens the passes on `lanes`, which the caller still owns and closes. */
  static async open(
    config: DecoderConfig,
    parameters: Parameters,
    options: {
      readonly actor: RunConfig["actor"];
      readonly algorithm: LossAlgorithm;
      readonly custom?: CustomParts | undefined;
      readonly lanes: Lanes;
    } & NetworkResources,
    moments?: Moments,
  ): Promise<Actor> {
    const { actor, algorithm, custom, lanes, ...resources } = options;
    const network = await Network.open(parameters, actorOptimiser(actor), moments, resources);
    const parts: readonly Part[] = actor.use_kl_loss ? ["surrogate", "entropy", "kl"] : ["surrogate", "entropy"];
    const loss = policyLossOptions(actor, algorithm, custom?.loss);
    const model = actorModel(config, loss, network.specs, passOptions(actor));
    const step = await lanes.pass({ model, trained: network.specs, sumsOnDevice: true, sums: parts, rows: ["logp"] });
    return new Actor(network, actor, loss, step, () => openTokenScorer(config, actor, lanes));
  }

  /**
   * Returns the log-probability of every trained id given the ids before it, [tokens], 0 elsewhere. `weights` default to the current ones.
   */
  async score(batch: TokenBatch, weights: LaneWeights = this.network): Promise<Float32Array> {
    this.#scorer ??= this.#openScorer();
    const score = await this.#scorer;
    return score(batch, weights);
  }

  /**
   * Returns the gradient and the parts of the mini-batch's loss, summed over micro-batches; null for an empty mini-batch. Writes
   * log-probabilities into `logp` [tokens].
   */
  async gradient(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    logp: Float32Array,
  ): Promise<PolicyGradient | null> {
    const { use_kl_loss } = this.#options;
    const arrays = lossArrays(batch, mini, targets, this.#lossArrays);
    const temperature = scalar(batch.temperature);
    const inputs = splitIntoMicros(batch, mini, this.#options, arrays, { temperature });
    const totals = await runInto(this.#step, this.network, inputs, "logp", logp);
    if (totals === null) return null;
    const { gradients, sums } = totals;
    const kl = use_kl_loss ? scalarOf(sums.kl) : undefined;
    return { surrogate: scalarOf(sums.surrogate), entropy: scalarOf(sums.entropy), kl, gradients };
  }

  /** Takes one optimiser step over the mini-batch `mini`. Writes the log-probabilities before the step into `logp` [tokens]. */
  async step(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    lr: number,
    logp: Float32Array,
  ): Promise<PolicyStep> {
    const gradient = await this.gradient(batch, mini, targets, logp);
    if (gradient === null) return { surrogate: 0, entropy: 0, kl: undefined, ...skippedStep(null) };
    const { gradients, ...parts } = gradient;
    const finite = [parts.surrogate, parts.entropy, parts.kl ?? 0].every(Number.isFinite);
    const result = finite ? await this.network.step(gradients, lr) : skippedStep("loss");
    freeArrays(gradients);
    return { ...parts, ...result };
  }

  async commitVersion(): Promise<void> {
    await this.network.synchronise();
  }

  async close(): Promise<void> {
    await this.network.close();
  }
}
