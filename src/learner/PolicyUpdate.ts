/**
 * The policy's part of an update: what its loss is taken against, then one optimiser step for each mini-batch. Invariant: no step is taken where
 * what the loss reads is not finite.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type CreditedBatch } from "../domain/Batch.ts";
import type { Version } from "../domain/Episode.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, measured, together } from "../domain/metrics/Metrics.ts";
import { updateBatches } from "./batches.ts";
import { correct, needsProximal } from "./corrections/correct.ts";
import { interpolatedCorrection, logLinearPlaces } from "./corrections/logLinear.ts";
import { LossMetrics } from "./LossMetrics.ts";
import { learningRate, type Schedule } from "./learningRate.ts";
import { policyLossOptions } from "./models.ts";
import { countSkipped, meanOfApplied, type NetworkUpdate, outcomeOf } from "./NetworkUpdate.ts";
import { firstNonFinite, type NonFinitePart } from "./NonFinitePart.ts";
import { muOrProximal, sampledOnly } from "./observedTokens.ts";
import { skippedStep } from "./optimiser/AdamW.ts";
import type { PhaseTimes } from "./PhaseTimes.ts";
import type { PolicyStep, PolicyTargets, TrainedPolicy, TrainedReference } from "./TrainedPolicy.ts";
import type { TrainerOptions } from "./TrainerState.ts";
import { mismatchMetrics, WeightMetrics } from "./updateMetrics.ts";

/** A batch as the policy's loss reads it. */
export interface PolicyBatch {
  readonly batch: CreditedBatch;
  readonly targets: PolicyTargets;
  /** Log-probability of each trained id under the weights that the window is trained from, [tokens]; undefined where nothing needs it. */
  readonly proximal: Float32Array | undefined;
  /** The batch whose mask has the sampled ids alone. */
  readonly sampled: CreditedBatch;
  /** Statistics of the importance weights. Those that depend on a step are added as it is taken. */
  readonly weights: WeightMetrics;
}

/** Where a training stands when it takes an update. */
export interface PolicyProgress {
  /** Updates of the policy so far, by which the learning rate goes. */
  readonly updates: number;
  /** Version of the weights that the window is trained from. */
  readonly version: Version;
}

/** The first input of the policy's loss that is not finite, in the order in which one comes of the other. */
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

  /** `reference` is the policy that a KL loss is taken to. */
  constructor(
    policy: TrainedPolicy,
    reference: TrainedReference | undefined,
    { actor, algorithm, seed, totalUpdates }: Pick<TrainerOptions, "actor" | "algorithm" | "seed" | "totalUpdates">,
  ) {
    this.#policy = policy;
    this.#reference = actor.use_kl_loss ? reference : undefined;
    this.#actor = actor;
    this.#algorithm = algorithm;
    this.#seed = seed;
    this.#schedule = { peak: actor.lr, warmup: actor.lr_warmup_steps, decay: actor.lr_decay, total: totalUpdates };
  }

  /** Scores a batch where its loss needs it. `reference` are the reference's log-probabilities where they are known already, [tokens]. */
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

  /** Takes the optimiser steps. */
  async train(prepared: PolicyBatch, { updates, version }: PolicyProgress): Promise<NetworkUpdate> {
    const lr = learningRate(this.#schedule, updates);
    const { steps, surrogate, mismatch } = await this.#steps(prepared, lr, version);
    const { targets, weights } = prepared;
    const entropy = meanOfApplied(steps, (step) => step.entropy);
    const metrics = together(
      surrogate,
      mismatch,
      weights.result(),
      measured(
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
    const lossOptions = policyLossOptions(this.#actor, this.#algorithm);
    const surrogate = new LossMetrics(lossOptions, version);
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
      const places = lossOptions.logLinear && logLinearPlaces(sampled, version, stepIndex / minis.length);
      steps.push(await this.#policy.step(batch, mini, { ...targets, places }, lr, logp));
      const interpolated =
        places && interpolatedCorrection(sampled, mini, { cap: this.#algorithm.correction_cap, logp, places });
      if (interpolated !== undefined) weights.add(sampled, mini, interpolated);
      surrogate.add(batch, mini, logp, interpolated?.old ?? targets.old);
      // Before the first step the weights are those at consumption.
      mismatch ??= mismatchMetrics(batch, mini, logp, version);
    }
    return { steps, surrogate: surrogate.result(), mismatch: mismatch ?? measured() };
  }
}
