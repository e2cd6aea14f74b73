/**
 * The learner without its thread: it assigns a window's credit and trains critic and policy on it, here or on a server. Invariant: the
 * version grows by one exactly when the policy's weights change.
 */
import { crc32 } from "node:zlib";
import { type CreditedBatch, shortest, type TokenBatch } from "../domain/Batch.ts";
import { analysis } from "../domain/metrics/diagnostics.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { allFinite } from "../model/graphs/finite.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import { WindowAnalysis } from "./analysis/WindowAnalysis.ts";
import { CriticUpdate } from "./CriticUpdate.ts";
import { assignCredit, creditMetrics } from "./credit.ts";
import type { AnalysedTokens, UpdateReport, WindowTokens } from "./Learner.ts";
import { LocalNetworks } from "./LocalNetworks.ts";
import type { NetworkUpdate } from "./NetworkUpdate.ts";
import { PhaseTimes } from "./PhaseTimes.ts";
import { PolicyUpdate } from "./PolicyUpdate.ts";
import { RewardDivergence, type RewardPenalty } from "./RewardDivergence.ts";
import type { TrainedCritic, TrainedPolicy, TrainedReference } from "./TrainedPolicy.ts";
import type { TrainerOptions } from "./TrainerOptions.ts";
import { initialState, type RestoredTrainer, type TrainerState } from "./TrainerState.ts";
import { batchMetrics } from "./updateMetrics.ts";

export interface TrainerParts {
  readonly policy: TrainedPolicy;
  readonly critic: TrainedCritic | undefined;
  /** Present if the loss or the reward has a KL divergence. */
  readonly reference: TrainedReference | undefined;
}

/** A window's tokens with credit, and the penalty that was subtracted from their rewards. */
export interface CreditedWindow {
  readonly batch: CreditedBatch;
  readonly penalty: RewardPenalty | undefined;
}

interface UpdateOptions {
  /** All usable groups of the window, present if their gradient is analysed too. */
  readonly unfiltered?: CreditedBatch | undefined;
  readonly penalty?: RewardPenalty | undefined;
  readonly phases?: PhaseTimes;
}

export class Trainer implements AsyncDisposable {
  readonly options: TrainerOptions;
  readonly #policy: TrainedPolicy;
  readonly #critic: TrainedCritic | undefined;
  readonly #reference: TrainedReference | undefined;
  readonly #policyUpdate: PolicyUpdate;
  readonly #criticUpdate: CriticUpdate | undefined;
  readonly #divergence: RewardDivergence | undefined;
  readonly #analysis: WindowAnalysis | undefined;
  readonly #networks: LocalNetworks | undefined;
  /** The shortest sequence of the last trained batch, on which outputs are checked before a save. */
  #probe: TokenBatch | undefined;
  #state: TrainerState;

  private constructor(options: TrainerOptions, parts: TrainerParts, state: TrainerState, networks?: LocalNetworks) {
    const { algorithm, analysis } = options;
    const { critic, policy, reference } = parts;
    this.options = options;
    this.#policy = policy;
    this.#critic = critic;
    this.#reference = reference;
    this.#policyUpdate = new PolicyUpdate(policy, reference, options);
    this.#criticUpdate = critic && new CriticUpdate(critic, options);
    this.#divergence = algorithm.use_kl_in_reward && reference ? new RewardDivergence(reference, algorithm) : undefined;
    this.#analysis = analysis && networks && new WindowAnalysis(networks, this.#policyUpdate, { ...options, analysis });
    this.#networks = networks;
    this.#state = state;
  }

  /** Makes a trainer over networks that compute elsewhere, and takes ownership of them. `restored` is a saved state to resume from. */
  static over(options: TrainerOptions, parts: TrainerParts, restored?: TrainerState): Trainer {
    return new Trainer(options, parts, restored ?? initialState);
  }

  /** Makes a trainer over networks of this thread. `start` are the starting weights, or the starting adapter over the frozen weights `base`. */
  static async open(
    config: DecoderConfig,
    start: Parameters<ArrayBufferLike>,
    options: TrainerOptions,
    restored?: RestoredTrainer,
    base?: Base,
  ): Promise<Trainer> {
    const networks = await LocalNetworks.open(config, start, options, restored, base);
    const parts = { policy: networks.policy, critic: networks.trainedCritic, reference: networks.trainedReference };
    return new Trainer(options, parts, restored?.state ?? initialState, networks);
  }

  get state(): TrainerState {
    return this.#state;
  }

  /** The networks of this process. Throws for a trainer over a training server. */
  get networks(): LocalNetworks {
    if (this.#networks === undefined) throw new Error("a training server has the networks; this needs them here");
    return this.#networks;
  }

  /** Returns the critic's value of every token, [tokens]; zeros without a critic. */
  async values(batch: TokenBatch): Promise<Float32Array> {
    return this.#critic === undefined ? new Float32Array(batch.ids.length) : this.#critic.values(batch);
  }

  /** Returns the log-probability of every id under the current weights, [tokens]. */
  async logp(batch: TokenBatch): Promise<Float32Array> {
    return this.#policy.score(batch);
  }

  /** Assigns credit under the current weights. Changes nothing: the KL coefficient moves when the window is trained on. */
  async credit(tokens: TokenBatch, phases = new PhaseTimes()): Promise<CreditedWindow> {
    const { algorithm, custom, lossScaling } = this.options;
    const divergence = this.#divergence;
    const isTimedAsValues = algorithm.adv_estimator === "gae" || divergence !== undefined;
    const score = async () => {
      const values = await this.values(tokens);
      const proximal = algorithm.correction === "vtrace" ? await this.#policy.score(tokens) : undefined;
      const penalised = await divergence?.penalise(tokens, this.#state.klCoefficient, phases);
      return { values, proximal, rewards: penalised?.rewards ?? tokens.rewards, penalty: penalised?.penalty };
    };
    const { penalty, ...scores } = isTimedAsValues ? await phases.time("values", score) : await score();
    const options = { algorithm, lossScaling, estimator: custom?.estimator };
    const batch = await phases.time("advantages", async () => assignCredit(tokens, scores, options));
    return { batch, penalty };
  }

  /** Assigns credit to the kept tokens of a window and trains on them. */
  async train({ kept, unfiltered }: WindowTokens): Promise<UpdateReport> {
    const unfilteredBatch = unfiltered && (await this.credit(unfiltered)).batch;
    const phases = new PhaseTimes();
    const { batch, penalty } = await this.credit(kept, phases);
    const report = await this.update(batch, { unfiltered: unfilteredBatch, penalty, phases });
    const { advantages, returns, values } = batch;
    return { ...report, credit: { advantages, returns, values } };
  }

  /**
   * Trains the critic and then, after the critic's warm-up, the policy on a window with credit. Renews the reference policy if it is due.
   */
  async update(
    batch: CreditedBatch,
    { penalty, phases = new PhaseTimes(), unfiltered }: UpdateOptions = {},
  ): Promise<Omit<UpdateReport, "credit">> {
    const critic = this.#isAnalysisOnly ? undefined : this.#criticUpdate;
    const isWarmingUp = critic !== undefined && this.#state.windows < this.options.critic.warmup_windows;
    this.#state = { ...this.#state, windows: this.#state.windows + 1 };
    this.#probe = shortest(batch);
    const updates: NetworkUpdate[] = [];
    if (this.#isAnalysisOnly) updates.push({ applied: false, untrained: null, metrics: this.#skippedMetrics });
    if (critic !== undefined) {
      updates.push(await phases.time("update_critic", () => this.#updateCritic(critic, batch)));
    }
    if (!isWarmingUp) updates.push(await this.#updatePolicy(batch, unfiltered, penalty, phases));
    const penaltyMetrics = penalty === undefined ? metricsFrom() : this.#control(batch, penalty);
    const { ref_update_freq } = this.options.actor;
    if (ref_update_freq > 0 && this.#state.windows % ref_update_freq === 0) await this.#reference?.renew();
    const lastUntrained = updates.findLast(({ untrained }) => untrained !== null);
    return {
      version: this.#state.version,
      applied: updates.some(({ applied }) => applied),
      untrained: lastUntrained?.untrained ?? null,
      ...this.#checksum,
      metrics: mergeMetrics(
        batchMetrics(batch, this.#critic !== undefined),
        creditMetrics(batch, this.options.algorithm),
        penaltyMetrics,
        ...updates.map(({ metrics }) => metrics),
      ),
      seconds: phases.seconds,
    };
  }

  /** Measures the norms of the task, entropy and KL gradients of tokens that are not trained on. No update depends on it. */
  async analyse({ kept, unfiltered }: AnalysedTokens): Promise<Metrics> {
    if (this.#analysis === undefined) return metricsFrom();
    const keptBatch = kept && (await this.credit(kept)).batch;
    const unfilteredBatch = unfiltered && (await this.credit(unfiltered)).batch;
    return this.#analysis.analyseUntrained(keptBatch, unfilteredBatch);
  }

  /** Records that a `Cloner` has trained the policy to imitate `batch`; if that step was applied, its weights become the next version. */
  async countCloningStep(batch: TokenBatch, applied: boolean): Promise<void> {
    this.#probe = shortest(batch);
    if (applied) await this.#advance();
  }

  /**
   * Names an output that is not finite although all weights are, so that such weights are not saved. One sequence is checked. Returns null if
   * its outputs are finite, or before the first update.
   */
  async nonFiniteOutput(): Promise<string | null> {
    if (this.#probe === undefined) return null;
    if (!allFinite(await this.#policy.score(this.#probe))) return "the policy's log-probabilities";
    return allFinite(await this.values(this.#probe)) ? null : "the critic's values";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#policy.close();
    await this.#critic?.close();
    await this.#networks?.close();
  }

  /** Turns the policy's weights into the next version. */
  async #advance(): Promise<void> {
    const version = this.#state.version + 1;
    await this.#policy.commitVersion(version);
    this.#state = { ...this.#state, version };
  }

  /** True for a run that analyses gradients and trains nothing. */
  get #isAnalysisOnly(): boolean {
    return this.options.analysis?.gradient_analysis_only === true;
  }

  get #skippedMetrics(): Metrics {
    const { actorSkipped, criticSkipped, only } = analysis;
    return metricsFrom([only, 1], [actorSkipped, 1], [criticSkipped, this.#critic === undefined ? undefined : 1]);
  }

  async #updateCritic(critic: CriticUpdate, batch: CreditedBatch): Promise<NetworkUpdate> {
    const { criticUpdates } = this.#state;
    const update = await critic.train(batch, criticUpdates);
    if (update.untrained === null) this.#state = { ...this.#state, criticUpdates: criticUpdates + 1 };
    return update;
  }

  get #checksum(): { readonly checksum?: number } {
    if (this.options.checksums !== true || this.#networks === undefined) return {};
    const { buffer, byteLength, byteOffset } = this.#networks.actor.parameters.flat;
    return { checksum: crc32(new Uint8Array(buffer, byteOffset, byteLength)) };
  }

  async #updatePolicy(
    batch: CreditedBatch,
    unfiltered: CreditedBatch | undefined,
    penalty: RewardPenalty | undefined,
    phases: PhaseTimes,
  ): Promise<NetworkUpdate> {
    const { actorUpdates: updates, version } = this.#state;
    const prepared = await this.#policyUpdate.prepare(batch, phases, penalty?.reference);
    const analysed = (await this.#analysis?.analyseTrained(prepared, unfiltered, phases)) ?? metricsFrom();
    if (this.#isAnalysisOnly) return { applied: false, untrained: null, metrics: analysed };
    const update = await phases.time("update_actor", () => this.#policyUpdate.train(prepared, { updates, version }));
    if (update.applied) await this.#advance();
    if (update.untrained === null) this.#state = { ...this.#state, actorUpdates: updates + 1 };
    return { ...update, metrics: mergeMetrics(analysed, update.metrics) };
  }

  /** Moves the coefficient of the KL divergence in the reward for the next window. */
  #control(batch: CreditedBatch, penalty: RewardPenalty): Metrics {
    const controlled = this.#divergence?.control(batch, penalty);
    if (controlled?.next !== undefined) this.#state = { ...this.#state, klCoefficient: controlled.next };
    return controlled?.metrics ?? metricsFrom();
  }
}
