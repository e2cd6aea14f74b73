/**
 * A policy loss for a network that runs elsewhere: from log-probabilities of a mini-batch's targets to the loss's parts and its gradient by
 * them. Invariant: the numbers equal those of the local learner's loss.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TokenBatch } from "../../domain/Batch.ts";
import { type Feeds, float32, int64, Session } from "../../model/runtime/Session.ts";
import { type LossArrayOptions, lossArrayOptions, lossArrays } from "../Actor.ts";
import { gatherTargets, scatterTargets, targetsAt } from "../batches.ts";
import { scalarOf } from "../microInputs.ts";
import { type LossAlgorithm, policyLossOptions } from "../models.ts";
import type { PolicyLossParts, PolicyTargets } from "../TrainedPolicy.ts";
import { lossModel } from "./lossModel.ts";
import type { LossDefinition, PolicyLossOptions } from "./policyLoss.ts";

export interface GradientByLogp extends PolicyLossParts {
  /** Gradient of the loss by each trained id's log-probability, [tokens], 0 elsewhere. */
  readonly byLogp: Float32Array;
}

export class PolicyLossGradient {
  readonly #session: Session;
  readonly #actor: RunConfig["actor"];
  readonly #lossArrays: LossArrayOptions;

  private constructor(session: Session, actor: RunConfig["actor"], loss: PolicyLossOptions) {
    this.#session = session;
    this.#actor = actor;
    this.#lossArrays = lossArrayOptions(actor, loss);
  }

  /** `custom` is the loss of a run file with `actor.policy_loss: custom`. */
  static async open(
    actor: RunConfig["actor"],
    algorithm: LossAlgorithm,
    custom?: LossDefinition,
  ): Promise<PolicyLossGradient> {
    const loss = policyLossOptions(actor, algorithm, custom);
    return new PolicyLossGradient(await Session.open(lossModel(loss)), actor, loss);
  }

  /** Computes the loss of a mini-batch from the network's log-probabilities `logp` [tokens]; null for one without targets. */
  async compute(
    batch: TokenBatch,
    mini: readonly number[],
    targets: PolicyTargets,
    logp: Float32Array,
  ): Promise<GradientByLogp | null> {
    // Only the loss runs here, so no target needs a row of a pass.
    const targetRows = targetsAt(batch, mini, () => 0);
    if (targetRows.positions.length === 0) return null;
    const { sequences, ...arrays } = lossArrays(batch, mini, targets, this.#lossArrays);
    const dims = [targetRows.before.length];
    const perTarget = Object.entries({ logp, entropy: new Float32Array(logp.length), ...arrays }).map(
      ([name, values]) => [name, float32(gatherTargets(targetRows, values), dims)] as const,
    );
    const feeds: Feeds = {
      ...Object.fromEntries(perTarget),
      ...(sequences === undefined ? {} : { sequences: int64(sequences(targetRows), dims) }),
    };
    using outputs = await this.#session.run(feeds);
    const byLogp = new Float32Array(logp.length);
    scatterTargets(targetRows, outputs.float32("dlogp"), byLogp);
    const kl = this.#actor.use_kl_loss ? scalarOf(outputs.float32("loss_kl")) : undefined;
    return { surrogate: scalarOf(outputs.float32("loss_surrogate")), entropy: undefined, kl, byLogp };
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}
