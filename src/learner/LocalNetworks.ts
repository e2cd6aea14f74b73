/**
 * The networks of a learner that computes in its own thread, and what computes them: policy, critic, reference policy and the lanes. Invariant: they
 * are changed by a `Trainer` or a `Cloning` alone.
 */
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { changeable, copyOf, type Parameters, parametersOf } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import { type HeldBase, heldOn } from "../model/runtime/HeldBase.ts";
import { Actor } from "./Actor.ts";
import { ContinuationScorer } from "./ContinuationScorer.ts";
import { Critic, criticConfig, criticFrom } from "./Critic.ts";
import { Lanes } from "./lanes/Lanes.ts";
import type { Network, NetworkResources } from "./Network.ts";
import { Reference } from "./Reference.ts";
import type { TrainedReference } from "./TrainedPolicy.ts";
import type { RestoredTrainer, TrainedNetwork, TrainerOptions } from "./TrainerState.ts";

/**
 * The reference policy of a network that started from `start`: a copy of that, or the network without its adapter. One that is renewed begins
 * with an adapter of zeros, which adds nothing.
 */
const referenceOf = async (
  network: Network,
  start: Parameters<ArrayBufferLike>,
  resources: NetworkResources,
  restored: Parameters | undefined,
  isRenewed: boolean,
): Promise<Reference> => {
  const { base, specs } = network;
  if (base === undefined) return Reference.open(restored ?? copyOf(start), resources);
  return isRenewed
    ? Reference.open(restored ?? parametersOf(specs), resources)
    : Reference.withoutAdapter(network, base);
};

interface NetworkParts {
  readonly config: DecoderConfig;
  readonly lanes: Lanes;
  readonly policy: Actor;
  readonly trainedCritic: Critic | undefined;
  readonly deviceBase: HeldBase | undefined;
  readonly referencePolicy: Reference | undefined;
  readonly isRenewed: boolean;
}

export class LocalNetworks {
  readonly config: DecoderConfig;
  readonly lanes: Lanes;
  /** A trainer takes the policy by this. */
  readonly policy: Actor;
  /** A trainer takes the critic by this; undefined with estimators that need none. */
  readonly trainedCritic: Critic | undefined;
  readonly #scorer: ContinuationScorer;
  /** The base of an adapter, on a device that keeps tensors. */
  readonly #deviceBase: HeldBase | undefined;
  readonly #referencePolicy: Reference | undefined;
  readonly #isRenewed: boolean;

  private constructor({ config, referencePolicy, deviceBase, isRenewed, lanes, policy, trainedCritic }: NetworkParts) {
    this.config = config;
    this.lanes = lanes;
    this.policy = policy;
    this.trainedCritic = trainedCritic;
    this.#scorer = new ContinuationScorer(config, lanes);
    this.#deviceBase = deviceBase;
    this.#referencePolicy = referencePolicy;
    this.#isRenewed = isRenewed;
  }

  /**
   * `start` are the run's starting weights (and the reference policy), or its starting adapter to `base`; it takes ownership of them: they
   * are what is trained. `restored` goes on from a saved state instead.
   */
  static async open(
    config: DecoderConfig,
    start: Parameters<ArrayBufferLike>,
    options: TrainerOptions,
    restored?: RestoredTrainer,
    base?: Base,
  ): Promise<LocalNetworks> {
    const { actor, critic, device, threads, algorithm } = options;
    const lanes = await Lanes.open(options.lanes, threads, device);
    const parameters = restored?.actor.parameters ?? changeable(start);
    const deviceBase = await heldOn(device, base);
    const resources: NetworkResources = { base, device, deviceBase };
    const policy = await Actor.open(
      config,
      parameters,
      { actor, algorithm, lanes, ...resources },
      restored?.actor.moments,
    );
    const criticTrunk = criticConfig(config, critic);
    const trainedCritic =
      algorithm.adv_estimator === "gae"
        ? await Critic.open(
            criticTrunk,
            restored?.critic?.parameters ?? criticFrom(criticTrunk, start),
            { actor, critic, lanes, ...resources },
            restored?.critic?.moments,
          )
        : undefined;
    const isRenewed = actor.ref_update_freq > 0;
    const referencePolicy =
      actor.use_kl_loss || algorithm.use_kl_in_reward
        ? await referenceOf(policy.network, start, resources, restored?.reference, isRenewed)
        : undefined;
    return new LocalNetworks({
      config,
      lanes,
      policy,
      trainedCritic,
      deviceBase,
      referencePolicy,
      isRenewed,
    });
  }

  get actor(): TrainedNetwork {
    return this.policy.network;
  }

  get critic(): TrainedNetwork | undefined {
    return this.trainedCritic?.network;
  }

  /** The reference policy, where it is renewed as the run goes on. */
  get reference(): Parameters | undefined {
    return this.#isRenewed ? this.#referencePolicy?.parameters : undefined;
  }

  /** A trainer takes the reference policy by this. */
  get trainedReference(): TrainedReference | undefined {
    const [policy, reference] = [this.policy, this.#referencePolicy];
    return (
      reference && {
        score: (batch) => policy.score(batch, reference),
        renew: () => reference.renew(policy.network.parameters),
      }
    );
  }

  /** Log-probability of each continuation after the prompt under the current weights, nats, summed over its ids. */
  continuationLogProbs(
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ): Promise<readonly number[]> {
    return this.#scorer.score(this.policy.network, prompt, continuations, temperature);
  }

  /** Brings everything that a checkpoint has into host memory; on the CPU it is there. */
  async synchronise(): Promise<void> {
    await this.policy.network.synchronise(true);
    await this.trainedCritic?.network.synchronise(true);
  }

  /** Closes the rest: a trainer closes policy and critic itself. */
  async close(): Promise<void> {
    await this.#referencePolicy?.close();
    await this.#deviceBase?.close();
    await this.lanes[Symbol.asyncDispose]();
  }
}
