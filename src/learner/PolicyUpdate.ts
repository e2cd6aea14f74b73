/**
 * The policy's part of an update: `prepare` computes the inputs of its loss, `train` takes one optimiser step per mini-batch. Invariant: no
 * step is taken if an input of the loss is not finite.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type CreditedBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { updateBatches } from "./batches.ts";
import { correct, needsProximal } from "./corrections/correct.ts";
import { interpolatedCorrection, logLinearPlaces } from "./corrections/logLinear.ts";
import { LossMetrics } from "./LossMetrics.ts";
import { learningRate, type Schedule } from "./learningRate.ts";
import type { PolicyLossOptions } from "./losses/policyLoss.ts";
import { policyLossOptions } from "./models.ts";
import { countSkipped, meanOfApplied, type NetworkUpdate, outcomeOf } from "./NetworkUpdate.ts";
import { firstNonFinite, type NonFinitePart } from "./NonFinitePart.ts";
import { muOrProximal, sampledOnly } from "./observedTokens.ts";
import { skippedStep } from "./optimiser/AdamW.ts";
import type { PhaseTimes } from "./PhaseTimes.ts";
import type { PolicyStep, PolicyTargets, TrainedPolicy, TrainedReference } from "./TrainedPolicy.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";
import { mismatchMetrics, WeightMetrics } from "./updateMetrics.ts";

/** A batch with all inputs of the policy's loss. */
export interface PolicyBatch {
  readonly batch: CreditedBatch;
  readonly targets: PolicyTargets;
  /** Log-probability of each trained id under the weights at the start of the update, [tokens]; undefined if nothing needs it. */
  readonly proximal: Float32Array | undefined;
  /** The batch with only sampled ids in its mask. */
  readonly sampled: CreditedBatch;
  /** Statistics of the importance weights. Weights that depend on a step are added after that step. */
  readonly weights: WeightMetrics;
}

/** The training's position when it takes an update. */
export interface PolicyProgress {
  /** Earlier updates of the policy; the learning rate follows them. */
  readonly updates: number;
  /** Version of the weights at the start of the update. */
  readonly version: Version;
}

/** Returns the first input of the loss that is not finite. Inputs that others are computed from come first. */
const inputFault = (batch: CreditedBatch, { old, importance, reference }: PolicyTargets): NonFinitePart | null =>
  firstNonFinite(
    ["rewards", batch.rewards],
    ["sampled log-probabilities", batch.mu],
    ["values", batch.values],
    ["advantages", batch.advantages],
    ["log-probabilities", old],
    ["importance weights", importance],
    ...(reference === undefined ? [] : ([["reference log-probabilities", reference]] as const)),
  );

export class PolicyUpdate {
  readonly #policy: TrainedPolicy;
  readonly #reference: TrainedReference | undefined;
  readonly #actor: RunConfig["actor"];
  readonly #algorithm: RunConfig["algorithm"];
  readonly #seed: number;
  readonly #schedule: Schedule;
  readonly #loss: PolicyLossOptions;

  /** A KL loss takes `reference` as its reference policy. */
  constructor(
    policy: TrainedPolicy,
    reference: TrainedReference | undefined,
    {
      actor,
      algorithm,
      custom,
      seed,
      totalUpdates,
    }: Pick<TrainerOptions, "actor" | "algorithm" | "custom" | "seed" | "totalUpdates">,
  ) {
    this.#policy = policy;
    this.#reference = actor.use_kl_loss ? reference : undefined;
    this.#actor = actor;
    this.#algorithm = algorithm;
    this.#seed = seed;
    this.#loss = policyLossOptions(actor, algorithm, custom?.loss);
    this.#schedule = { peak: actor.lr, warmup: actor.lr_warmup_steps, decay: actor.lr_decay, total: totalUpdates };
  }

  /**
   * Scores a batch if its loss needs it. `reference` are log-probabilities under the reference policy that were computed earlier, [tokens].
   */
  async prepare(batch: CreditedBatch, phases: PhaseTimes, reference?: Float32Array): Promise<PolicyBatch> {
    const referencePolicy = this.#reference;
    const referenceScores =
      referencePolicy === undefined
        ? undefined
        : (reference ?? (await phases.time("ref", () => referencePolicy.score(batch))));
    const sampled = sampledOnly(batch);
    const weightsTokens = needsProximal(this.#algorithm.correction);
    const isNeeded = weightsTokens || sampled !== batch;
    const proximal =
      batch.proximal ?? (isNeeded ? await phases.time("old_log_prob", () => this.#policy.score(batch)) : undefined);
    const mu = proximal === undefined || sampled === batch ? batch.mu : muOrProximal(batch, proximal);
    const { old, importance, capped } = correct({ ...sampled, mu }, proximal, this.#algorithm);
    const weights = new WeightMetrics();
    if (weightsTokens) weights.add(sampled, allSequences(batch), { importance, capped });
    const targets: PolicyTargets = { old, importance, advantages: batch.advantages, reference: referenceScores };
    return { batch, targets, proximal, sampled, weights };
  }

  async train(prepared: PolicyBatch, { updates, version }: PolicyProgress): Promise<NetworkUpdate> {
    const lr = learningRate(this.#schedule, updates);
    const { steps, surrogate, mismatch } = await this.#steps(prepared, lr, version);
    const { targets, weights } = prepared;
    const entropy = meanOfApplied(steps, (step) => step.entropy);
    const metrics = mergeMetrics(
      surrogate,
      mismatch,
      weights.result(),
      metricsFrom(
        [learner.pgLoss, meanOfApplied(steps, (step) => step.surrogate)],
        [learner.entropy, entropy],
        [learner.entropyLoss, entropy],
        [learner.klLoss, meanOfApplied(steps, ({ kl }) => kl)],
        [learner.klCoefficient, targets.reference === undefined ? undefined : this.#actor.kl_loss_coef],
        [learner.gradNorm, meanOfApplied(steps, ({ norm }) => norm)],
        [learner.lr, lr],
        [learner.skipped, countSkipped(steps)],
        [learner.miniBatches, steps.length],
      ),
    );
    return { ...outcomeOf("policy", steps), metrics };
  }

  async #steps(
    { batch, proximal, sampled: sampledBatch, targets, weights }: PolicyBatch,
    lr: number,
    version: Version,
  ) {
    const minis = updateBatches(batch, { actor: this.#actor, seed: this.#seed });
    const surrogate = new LossMetrics(this.#loss, version);
    const sampled = { ...sampledBatch, mu: targets.old };
    const logp = new Float32Array(batch.ids.length);
    const steps: PolicyStep[] = [];
    let mismatch: Metrics | undefined =
      proximal && mismatchMetrics(sampledBatch, allSequences(batch), proximal, version);
    const notFinite = inputFault(batch, targets);
    for (const [stepIndex, mini] of minis.entries()) {
      if (notFinite !== null) {
        steps.push({ surrogate: Number.NaN, entropy: Number.NaN, kl: undefined, ...skippedStep(notFinite) });
        continue;
      }
      const places = this.#loss.logLinear && logLinearPlaces(sampled, version, stepIndex / minis.length);
      steps.push(await this.#policy.step(batch, mini, { ...targets, places }, lr, logp));
      const interpolated =
        places && interpolatedCorrection(sampled, mini, { cap: this.#algorithm.correction_cap, logp, places });
      if (interpolated !== undefined) weights.add(sampled, mini, interpolated);
      surrogate.add(batch, mini, logp, interpolated?.old ?? targets.old);
      // Before the first step the policy still has the weights that the window is trained from.
      mismatch ??= mismatchMetrics(batch, mini, logp, version);
    }
    return { steps, surrogate: surrogate.result(), mismatch: mismatch ?? metricsFrom() };
  }
}
