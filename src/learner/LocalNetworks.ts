/**
 * The networks of a learner that computes in its own thread (policy, critic, reference) and the lanes that run them. Invariant: only a
 * `Trainer` or a `Cloner` changes them.
 */
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { copyOf, type Parameters, parametersOf, writableParameters } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import { type DeviceBase, openDeviceBase } from "../model/runtime/DeviceBase.ts";
import { Actor } from "./Actor.ts";
import { ContinuationScorer } from "./ContinuationScorer.ts";
import { Critic, criticConfig, criticFrom } from "./Critic.ts";
import { Lanes } from "./lanes/Lanes.ts";
import type { Network, NetworkResources } from "./Network.ts";
import { Reference } from "./Reference.ts";
import type { TrainedReference } from "./TrainedPolicy.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";
import type { RestoredTrainer, TrainedNetwork } from "./TrainerState.ts";

/**
 * Opens the reference policy of a network that started from `start`: a copy of the start, or the network without its adapter. A renewed
 * reference starts with an adapter of zeros, which adds nothing.
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
  readonly deviceBase: DeviceBase | undefined;
  readonly referencePolicy: Reference | undefined;
  readonly isRenewed: boolean;
}

export class LocalNetworks {
  readonly config: DecoderConfig;
  readonly lanes: Lanes;
  /** The policy as a `Trainer` trains it. */
  readonly policy: Actor;
  /** The critic as a `Trainer` trains it; undefined for estimators without a critic. */
  readonly trainedCritic: Critic | undefined;
  readonly #scorer: ContinuationScorer;
  /** Base weights under an adapter on a device that keeps tensors; undefined otherwise. */
  readonly #deviceBase: DeviceBase | undefined;
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
   * Opens the networks of a run. `start` are its starting weights, or its starting adapter over `base`; this takes ownership and trains
   * them in place. `restored` is a saved state that replaces them.
   */
  static async open(
    config: DecoderConfig,
    start: Parameters<ArrayBufferLike>,
    options: TrainerOptions,
    restored?: RestoredTrainer,
    base?: Base,
  ): Promise<LocalNetworks> {
    const { actor, algorithm, critic, custom, device, threads } = options;
    const lanes = await Lanes.open(options.lanes, threads, device);
    const parameters = restored?.actor.parameters ?? writableParameters(start);
    const deviceBase = await openDeviceBase(device, base);
    const resources: NetworkResources = { base, device, deviceBase };
    const policy = await Actor.open(
      config,
      parameters,
      { actor, algorithm, custom, lanes, ...resources },
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

  /** The reference policy's numbers, if `actor.ref_update_freq` renews them; only then are they saved. */
  get reference(): Parameters | undefined {
    return this.#isRenewed ? this.#referencePolicy?.parameters : undefined;
  }

  /** The reference policy as a `Trainer` uses it. */
  get trainedReference(): TrainedReference | undefined {
    const [policy, reference] = [this.policy, this.#referencePolicy];
    return (
      reference && {
        score: (batch) => policy.score(batch, reference),
        renew: () => reference.renew(policy.network.parameters),
      }
    );
  }

  /** Returns the log-probability of each continuation after the prompt under the current weights, nats, summed over its ids. */
  continuationLogProbs(
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ): Promise<readonly number[]> {
    return this.#scorer.score(this.policy.network, prompt, continuations, temperature);
  }

  /** Brings everything that a checkpoint saves into host memory. On the CPU it is there already. */
  async synchronise(): Promise<void> {
    await this.policy.network.synchronise(true);
    await this.trainedCritic?.network.synchronise(true);
  }

  /** Closes reference, base and lanes. A trainer closes policy and critic itself. */
  async close(): Promise<void> {
    await this.#referencePolicy?.close();
    await this.#deviceBase?.close();
    await this.lanes[Symbol.asyncDispose]();
  }
}
