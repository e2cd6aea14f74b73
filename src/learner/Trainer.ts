/**
 * The learner without its thread: policy, critic, their counters, and one command per window. An update changes the
 * weights in place, here or on a server, and returns a report. Invariant: the version grows by one exactly when the policy's weights changed.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type CreditedBatch, sequences, shortest, type TokenBatch } from "../domain/Batch.ts";
import type { Device } from "../domain/Device.ts";
import { analysis, gradients, gradientsPrefilter } from "../domain/metrics/diagnostics.ts";
import { learner } from "../domain/metrics/learner.ts";
import { type Metrics, measured, together, valueIn } from "../domain/metrics/Metrics.ts";
import { mean } from "../domain/Statistics.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { allFinite } from "../model/graphs/finite.ts";
import { changeable, copyOf, type Parameters, parametersOf } from "../model/graphs/Parameters.ts";
import type { Base } from "../model/runtime/baseFeeds.ts";
import { type HeldBase, heldOn } from "../model/runtime/HeldBase.ts";
import type { Runtime } from "../model/runtime/Session.ts";
import { Actor } from "./Actor.ts";
import { type AnalysisOptions, endsRun, GradientAnalysis, takesWindow } from "./analysis/GradientAnalysis.ts";
import { miniBatches } from "./batches.ts";
import { Cloner, type CloningReport } from "./Cloner.ts";
import { Critic, criticConfig, criticFrom } from "./Critic.ts";
import { correct, needsProximal } from "./corrections/correct.ts";
import { interpolated, logLinearPlaces } from "./corrections/logLinear.ts";
import { creditMetrics } from "./credit.ts";
import * as KlController from "./KlController.ts";
import type { Analysed, UpdateReport } from "./Learner.ts";
import { LossMetrics } from "./LossMetrics.ts";
import { Lanes } from "./lanes/Lanes.ts";
import { batchMetrics, mismatchMetrics, ValueMetrics, WeightMetrics } from "./metrics.ts";
import { policyLossOptions } from "./models.ts";
import type { Network, NetworkPlace } from "./Network.ts";
import { among, type NotFinite, type Untrained } from "./NotFinite.ts";
import { muOr, sampledOnly } from "./observed.ts";
import { type Moments, untaken } from "./optimiser/AdamW.ts";
import { Phases } from "./Phases.ts";
import type { Prepared } from "./Prepared.ts";
import { Reference } from "./Reference.ts";
import { penalised } from "./rewardPenalty.ts";
import { Scoring } from "./Scoring.ts";
import { learningRate } from "./schedule.ts";
import type {
  CriticStep,
  PolicyStep,
  PolicyTargets,
  TakenStep,
  TrainedCritic,
  TrainedPolicy,
  TrainedReference,
} from "./TrainedPolicy.ts";

export interface TrainerOptions {
  readonly seed: number;
  /** Threads that share the passes over a mini-batch, the learner's own among them; `useLanes` leaves some idle. */
  readonly lanes: number;
  /** Intra-op threads of every session. */
  readonly threads: number;
  /** What the learner's thread sets for its sessions and its lanes' (`useRuntime`), default onnxruntime; a trainer elsewhere has its thread's. */
  readonly runtime?: Runtime;
  /** Where the sessions compute. Default CPU. */
  readonly device?: Device;
  /** Updates over which a learning rate decays. */
  readonly totalUpdates: number;
  readonly algorithm: RunConfig["algorithm"];
  readonly actor: RunConfig["actor"];
  readonly critic: RunConfig["critic"];
  /** The decomposition of the gradient; none without. */
  readonly analysis?: AnalysisOptions;
}

/** Everything that decides the next update, beside the options. */
export interface TrainerState {
  readonly version: number;
  /** Windows given to `update`. */
  readonly windows: number;
  /** Windows that trained the actor, and the critic, skipped ones not: positions of their learning-rate schedules. */
  readonly actorUpdates: number;
  readonly criticUpdates: number;
  /** Coefficient of the divergence in the next window's reward; absent while it is that of the run file. */
  readonly klCoefficient?: number;
}

export interface TrainedNetwork {
  readonly parameters: Parameters;
  readonly moments: Moments;
}

/** What a trainer goes on from. */
export interface Restored {
  readonly state: TrainerState;
  readonly actor: TrainedNetwork;
  readonly critic: TrainedNetwork | undefined;
  /** The reference policy, where it may have been renewed; else it is the starting weights. */
  readonly reference?: Parameters;
}

/** What the divergence in a window's reward came to, for its update. */
interface Penalty {
  readonly window: number;
  /** Rewards without it. */
  readonly scores: Float32Array;
  /** Log-probabilities under the reference policy. */
  readonly reference: Float32Array;
  readonly kl: number;
  readonly phases: Phases;
}

/** What training one network came to. */
interface Trained {
  /** Whether any optimiser step changed it. */
  readonly applied: boolean;
  /** Why none did; null where one did or there was nothing to do. */
  readonly untrained: Untrained | null;
  readonly metrics: Metrics;
}

/** Mean over the optimiser steps that were applied; undefined where none was, or where they have no such part. */
const meanOf = <Step extends TakenStep>(
  steps: readonly Step[],
  part: (step: Step) => number | undefined,
): number | undefined => {
  const parts = steps.filter(({ applied }) => applied).flatMap((step) => part(step) ?? []);
  return parts.length === 0 ? undefined : mean(parts);
};

const skipped = (steps: readonly TakenStep[]): number => steps.filter(({ applied }) => !applied).length;

/** What the optimiser steps of a network came to. */
const outcome = (network: Untrained["network"], steps: readonly TakenStep[]): Omit<Trained, "metrics"> => {
  const applied = steps.some((step) => step.applied);
  const notFinite = steps.find((step) => step.notFinite !== null)?.notFinite ?? null;
  return { applied, untrained: applied || notFinite === null ? null : { network, notFinite } };
};

/** The optimiser steps of the actor in one update, and what was seen on the way. */
interface ActorSteps {
  readonly steps: readonly PolicyStep[];
  readonly surrogate: Metrics;
  readonly mismatch: Metrics;
}

/** What the policy's loss would read that is not finite, in the order in which one comes of the other. */
const inputFault = (batch: CreditedBatch, { old, importance, reference }: PolicyTargets): NotFinite | null =>
  among(
    ["rewards", batch.rewards],
    ["sampled log-probabilities", batch.mu],
    ["values", batch.values],
    ["advantages", batch.advantages],
    ["log-probabilities", old],
    ["importance weights", importance],
    ...(reference === undefined ? [] : ([["reference log-probabilities", reference]] as const)),
  );

/** Of the batch's statistics those of its scores, which are the rewards without a divergence. */
const scoreMetrics = (batch: CreditedBatch): Metrics => {
  const all = batchMetrics(batch, false);
  const ofScores = [learner.scoreMean, learner.scoreMax, learner.scoreMin];
  return measured(...ofScores.map((metric) => [metric, valueIn(all, metric)] as const));
};

/**
 * The reference policy of a network that started from `start`: a copy of that, or the network without its adapter. One that is renewed begins
 * with an adapter of zeros, which adds nothing.
 */
const referenceOf = async (
  network: Network,
  start: Parameters<ArrayBufferLike>,
  place: NetworkPlace,
  restored: Parameters | undefined,
  renewed: boolean,
): Promise<Reference> => {
  const { base, specs } = network;
  if (base === undefined) return Reference.open(restored ?? copyOf(start), place);
  return renewed ? Reference.open(restored ?? parametersOf(specs), place) : Reference.without(network, base);
};

/** Networks that compute in this process: what can be done with them beside training them. */
interface Here {
  readonly config: DecoderConfig;
  readonly lanes: Lanes;
  readonly scoring: Scoring;
  readonly actor: Actor;
  readonly critic: Critic | undefined;
  readonly reference: Reference | undefined;
  /** What an adapter stands beside, on a device that keeps tensors. */
  readonly held: HeldBase | undefined;
}

/** What a trainer trains, and what it goes on from. */
export interface TrainerParts {
  readonly policy: TrainedPolicy;
  readonly critic: TrainedCritic | undefined;
  /** Where the loss or the reward has a divergence from it. */
  readonly reference: TrainedReference | undefined;
  readonly state: TrainerState;
}

const fromStart: TrainerState = { version: 0, windows: 0, actorUpdates: 0, criticUpdates: 0 };

/** What the reference policy scores and becomes, over networks that compute here. */
const trainedReference = (actor: Actor, reference: Reference): TrainedReference => ({
  score: (batch) => actor.score(batch, reference),
  renew: () => reference.renew(actor.network.parameters),
});

export class Trainer implements AsyncDisposable {
  readonly #options: TrainerOptions;
  readonly #policy: TrainedPolicy;
  readonly #critic: TrainedCritic | undefined;
  readonly #reference: TrainedReference | undefined;
  /** Undefined where a server computes. */
  readonly #local: Here | undefined;
  /** Of the window prepared last; its update takes it. */
  #penalty: Penalty | undefined;
  #cloner: Cloner | undefined;
  #analysis: GradientAnalysis | undefined;
  /** One sequence of the last batch trained on. */
  #probe: TokenBatch | undefined;
  #state: TrainerState;

  private constructor(options: TrainerOptions, { critic, policy, reference, state }: TrainerParts, local?: Here) {
    this.#options = options;
    this.#policy = policy;
    this.#critic = critic;
    this.#reference = reference;
    this.#state = state;
    this.#local = local;
  }

  /** Over networks that compute elsewhere. It takes ownership of them; `restored` is the state that they go on from. */
  static over(options: TrainerOptions, parts: Omit<TrainerParts, "state">, restored?: TrainerState): Trainer {
    return new Trainer(options, { ...parts, state: restored ?? fromStart });
  }

  /**
   * `start` are the run's starting weights (and the reference policy), or its starting adapter to `base`; it takes ownership of them: they
   * are what is trained. `restored` goes on from a saved state instead.
   */
  static async open(
    config: DecoderConfig,
    start: Parameters<ArrayBufferLike>,
    options: TrainerOptions,
    restored?: Restored,
    base?: Base,
  ): Promise<Trainer> {
    const { actor, critic, device, threads, algorithm } = options;
    const lanes = await Lanes.open(options.lanes, threads, device);
    const parameters = restored?.actor.parameters ?? changeable(start);
    const held = await heldOn(device, base);
    const place: NetworkPlace = { base, device, held };
    const given = { actor, algorithm, lanes, ...place };
    const opened = await Actor.open(config, parameters, given, restored?.actor.moments);
    const valued = criticConfig(config, critic);
    const values =
      algorithm.adv_estimator === "gae"
        ? await Critic.open(
            valued,
            restored?.critic?.parameters ?? criticFrom(valued, start),
            { actor, critic, lanes, ...place },
            restored?.critic?.moments,
          )
        : undefined;
    const state = restored?.state ?? fromStart;
    const reference =
      actor.use_kl_loss || algorithm.use_kl_in_reward
        ? await referenceOf(opened.network, start, place, restored?.reference, actor.ref_update_freq > 0)
        : undefined;
    const scoring = new Scoring(config, lanes);
    const local: Here = { config, lanes, scoring, actor: opened, critic: values, reference, held };
    const parts = {
      policy: opened,
      critic: values,
      reference: reference && trainedReference(opened, reference),
      state,
    };
    return new Trainer(options, parts, local);
  }

  get state(): TrainerState {
    return this.#state;
  }

  /** What computes in this process. Throws where a server does. */
  get #here(): Here {
    if (this.#local === undefined) throw new Error("a training server has the networks; this needs them here");
    return this.#local;
  }

  get actor(): TrainedNetwork {
    return this.#here.actor.network;
  }

  get critic(): TrainedNetwork | undefined {
    return this.#here.critic?.network;
  }

  /** The reference policy, where it is renewed as the run goes on. */
  get reference(): Parameters | undefined {
    return this.#options.actor.ref_update_freq > 0 ? this.#here.reference?.parameters : undefined;
  }

  /** What credit is assigned from. Changes nothing: the divergence counts when the window is given to `update`. */
  async prepare(batch: TokenBatch): Promise<Prepared> {
    const { correction, kl_penalty, use_kl_in_reward } = this.#options.algorithm;
    const values = await this.values(batch);
    const known = correction === "vtrace" ? { values, proximal: await this.#policy.score(batch) } : { values };
    const held = this.#reference;
    this.#penalty = undefined;
    if (!use_kl_in_reward || held === undefined) return { ...known, rewards: batch.rewards };
    const phases = new Phases();
    const reference = await phases.time("ref", () => held.score(batch));
    const { kl, rewards } = penalised(batch, reference, { coefficient: this.#klCoefficient, type: kl_penalty });
    this.#penalty = { window: batch.window, scores: batch.rewards, reference, kl, phases };
    return { ...known, rewards };
  }

  async values(batch: TokenBatch): Promise<Float32Array> {
    return this.#critic === undefined ? new Float32Array(batch.ids.length) : this.#critic.values(batch);
  }

  /** Log-probability of every id under the current weights, [tokens]. */
  async logp(batch: TokenBatch): Promise<Float32Array> {
    return this.#policy.score(batch);
  }

  /** Log-probability of each continuation behind the prompt under the current weights, nats, summed over its ids. */
  async behind(
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ): Promise<readonly number[]> {
    const { actor, scoring } = this.#here;
    return scoring.behind(actor.network, prompt, continuations, temperature);
  }

  /** Passes from the next command on are shared by so many of the lanes: at least 1, at most those that were opened. Changes no bit. */
  useLanes(count: number): void {
    this.#here.lanes.use(count);
  }

  /**
   * Trains the critic, then (after its warm-up) the actor, on one window; then the reference is renewed where that is due. `unfiltered` is
   * what of the window is analysed beside what is trained on.
   */
  async update(batch: CreditedBatch, unfiltered?: CreditedBatch): Promise<UpdateReport> {
    const penalty = this.#penalty?.window === batch.window ? this.#penalty : undefined;
    this.#penalty = undefined;
    const phases = penalty?.phases ?? new Phases();
    const critic = this.#only ? undefined : this.#critic;
    const warming = critic !== undefined && this.#state.windows < this.#options.critic.warmup_windows;
    this.#state = { ...this.#state, windows: this.#state.windows + 1 };
    this.#probe = shortest(batch);
    const trained: Trained[] = this.#only ? [{ applied: false, untrained: null, metrics: this.#untrained }] : [];
    if (critic !== undefined) trained.push(await phases.time("update_critic", () => this.#trainCritic(critic, batch)));
    if (!warming) trained.push(await this.#trainActor(batch, phases, { known: penalty?.reference, unfiltered }));
    const divergence = penalty === undefined ? measured() : this.#control(batch, penalty);
    const { ref_update_freq } = this.#options.actor;
    if (ref_update_freq > 0 && this.#state.windows % ref_update_freq === 0) {
      await this.#reference?.renew();
    }
    return {
      version: this.#state.version,
      applied: trained.some(({ applied }) => applied),
      untrained: trained.findLast(({ untrained }) => untrained !== null)?.untrained ?? null,
      metrics: together(
        batchMetrics(batch, this.#critic !== undefined),
        creditMetrics(batch, this.#options.algorithm),
        divergence,
        ...trained.map(({ metrics }) => metrics),
      ),
      seconds: phases.seconds,
    };
  }

  /** The decomposition of the gradient of batches that nothing is trained on. Changes nothing that an update depends on. */
  async analyse({ kept, unfiltered }: Analysed): Promise<Metrics> {
    this.#penalty = undefined;
    return together(await this.#decompose(kept, gradients), await this.#decompose(unfiltered, gradientsPrefilter));
  }

  async #openCloner(): Promise<Cloner> {
    const { actor, config, lanes } = this.#here;
    this.#cloner ??= await Cloner.open(config, actor.network, { lanes, actor: this.#options.actor });
    return this.#cloner;
  }

  /** The cloning loss of a batch, nats per target token; null where it has none. Changes nothing. */
  async cloningLoss(batch: TokenBatch): Promise<number | null> {
    return (await this.#openCloner()).loss(batch);
  }

  /** One step of behaviour cloning. */
  async clone(batch: TokenBatch, lr: number): Promise<CloningReport> {
    this.#probe = shortest(batch);
    const report = await (await this.#openCloner()).step(batch, lr);
    if (report.applied) await this.#settle();
    return report;
  }

  /** Brings everything that a checkpoint has into host memory; on the CPU it is there. */
  async synchronise(): Promise<void> {
    const { actor, critic } = this.#here;
    await actor.network.synchronise(true);
    await critic?.network.synchronise(true);
  }

  /**
   * What of the networks' answers is not finite, though their numbers may be: then they are not worth saving. Null where all are, and before
   * the first update. One sequence of the last batch tells.
   */
  async unfit(): Promise<string | null> {
    if (this.#probe === undefined) return null;
    if (!allFinite(await this.#policy.score(this.#probe))) return "the policy's log-probabilities";
    return allFinite(await this.values(this.#probe)) ? null : "the critic's values";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#policy.close();
    await this.#critic?.close();
    await this.#local?.reference?.close();
    await this.#local?.held?.close();
    await this.#local?.lanes[Symbol.asyncDispose]();
  }

  /** The weights that were trained are a version of their own from here on. */
  async #settle(): Promise<void> {
    const version = this.#state.version + 1;
    await this.#policy.settle(version);
    this.#state = { ...this.#state, version };
  }

  get #klCoefficient(): number {
    const { kl_coef, type } = this.#options.algorithm.kl_ctrl;
    return type === "fixed" ? kl_coef : (this.#state.klCoefficient ?? kl_coef);
  }

  /** Moves the coefficient of the divergence in the reward for the next window, and says what it was in this one. */
  #control(batch: CreditedBatch, { kl, scores }: Penalty): Metrics {
    const { kl_ctrl } = this.#options.algorithm;
    const coefficient = this.#klCoefficient;
    const klCoefficient = KlController.next(kl_ctrl, coefficient, { kl, sequences: sequences(batch) });
    if (kl_ctrl.type === "adaptive") this.#state = { ...this.#state, klCoefficient };
    return together(
      scoreMetrics({ ...batch, rewards: scores }),
      measured([learner.rewardKlPenalty, kl], [learner.rewardKlCoefficient, coefficient]),
    );
  }

  /** A run that analyses gradients and trains nothing. */
  get #only(): boolean {
    return this.#options.analysis?.gradient_analysis_only === true;
  }

  get #untrained(): Metrics {
    const { actorSkipped, criticSkipped, only } = analysis;
    return measured([only, 1], [actorSkipped, 1], [criticSkipped, this.#critic === undefined ? undefined : 1]);
  }

  /** The decomposition of the gradient of a batch; `targets` are made where they are not known. */
  async #decompose(
    batch: CreditedBatch | undefined,
    families: typeof gradients | typeof gradientsPrefilter,
    known?: PolicyTargets,
  ): Promise<Metrics> {
    const { actor, algorithm, analysis: options, seed } = this.#options;
    if (options === undefined || batch === undefined) return measured();
    const here = this.#here;
    this.#analysis ??= new GradientAnalysis(here.config, { actor, algorithm, analysis: options, seed }, here.lanes);
    const targets = known ?? (await this.#targets(batch, new Phases(), undefined)).targets;
    return this.#analysis.of(here.actor.network, batch, targets, families);
  }

  /** The decomposition of the gradient of the batch that is trained on, where the window is due for it. */
  async #analyse(
    batch: CreditedBatch,
    targets: PolicyTargets,
    unfiltered: CreditedBatch | undefined,
    phases: Phases,
  ): Promise<Metrics> {
    const { analysis: options } = this.#options;
    if (options === undefined || !takesWindow(options, batch.window)) return measured();
    const metrics = await phases.time("gradient_analysis", async () =>
      together(await this.#decompose(batch, gradients, targets), await this.#decompose(unfiltered, gradientsPrefilter)),
    );
    const exited = endsRun(options, batch.window) ? 1 : undefined;
    return together(metrics, measured([analysis.usesWindow, 1], [analysis.exited, exited]));
  }

  /** The mini-batches of every epoch, in order. */
  #miniBatches(batch: CreditedBatch): readonly (readonly number[])[] {
    const { seed, actor } = this.#options;
    return Array.from({ length: actor.ppo_epochs }, (_, epoch) =>
      miniBatches(sequences(batch), actor.ppo_mini_batch_size, { seed, window: batch.window, epoch }),
    ).flat();
  }

  async #trainCritic(critic: TrainedCritic, batch: CreditedBatch): Promise<Trained> {
    const { critic: options, totalUpdates } = this.#options;
    const lr = learningRate(
      { peak: options.lr, warmup: options.lr_warmup_steps, decay: "constant", total: totalUpdates },
      this.#state.criticUpdates,
    );
    const statistics = new ValueMetrics(options.cliprange_value);
    const predicted = new Float32Array(batch.ids.length);
    const steps: CriticStep[] = [];
    const notFinite = among(["rewards", batch.rewards], ["values", batch.values], ["returns", batch.returns]);
    for (const mini of this.#miniBatches(batch)) {
      if (notFinite !== null) {
        steps.push({ loss: Number.NaN, ...untaken(notFinite) });
        continue;
      }
      steps.push(await critic.step(batch, mini, lr, predicted));
      statistics.add(batch, mini, predicted);
    }
    const came = outcome("critic", steps);
    if (came.untrained === null) this.#state = { ...this.#state, criticUpdates: this.#state.criticUpdates + 1 };
    const metrics = together(
      statistics.result(),
      measured(
        [learner.vfLoss, meanOf(steps, ({ loss }) => loss)],
        [learner.criticGradNorm, meanOf(steps, ({ norm }) => norm)],
        [learner.criticLr, lr],
        [learner.criticSkipped, skipped(steps)],
      ),
    );
    return { ...came, metrics };
  }

  /** The reference's log-probabilities for a KL loss, where the window's preparation has not `known` them. */
  async #referenceScores(batch: CreditedBatch, phases: Phases, known: Float32Array | undefined) {
    const held = this.#options.actor.use_kl_loss ? this.#reference : undefined;
    if (held === undefined) return undefined;
    return known ?? (await phases.time("ref", () => held.score(batch)));
  }

  /** What the policy's loss reads of the batch, the re-scored log-probabilities where they are needed, and the weights of a correction. */
  async #targets(batch: CreditedBatch, phases: Phases, known: Float32Array | undefined) {
    const { algorithm } = this.#options;
    const reference = await this.#referenceScores(batch, phases, known);
    const sampled = sampledOnly(batch);
    const weighs = needsProximal(algorithm.correction);
    const needed = weighs || sampled !== batch;
    const proximal =
      batch.proximal ?? (needed ? await phases.time("old_log_prob", () => this.#policy.score(batch)) : undefined);
    const mu = proximal === undefined || sampled === batch ? batch.mu : muOr(batch, proximal);
    const { old, importance, capped } = correct({ ...sampled, mu }, proximal, algorithm);
    const used = new WeightMetrics();
    if (weighs) used.add(sampled, allSequences(batch), { importance, capped });
    const targets: PolicyTargets = { old, importance, advantages: batch.advantages, reference };
    return { targets, proximal, sampled, used };
  }

  /** `known`: the reference's log-probabilities; `unfiltered`: what is analysed beside the batch. */
  async #trainActor(
    batch: CreditedBatch,
    phases: Phases,
    { known, unfiltered }: { readonly known: Float32Array | undefined; readonly unfiltered: CreditedBatch | undefined },
  ): Promise<Trained> {
    const { actor: options, totalUpdates } = this.#options;
    const { version, actorUpdates } = this.#state;
    const { proximal, sampled, targets, used } = await this.#targets(batch, phases, known);
    const lr = learningRate(
      { peak: options.lr, warmup: options.lr_warmup_steps, decay: options.lr_decay, total: totalUpdates },
      actorUpdates,
    );
    const analysed = await this.#analyse(batch, targets, unfiltered, phases);
    if (this.#only) return { applied: false, untrained: null, metrics: analysed };
    const ofWhole = proximal && mismatchMetrics(sampled, allSequences(batch), proximal, version);
    const { steps, surrogate, mismatch } = await phases.time("update_actor", () =>
      this.#stepActor(batch, targets, lr, ofWhole, used),
    );
    const came = outcome("policy", steps);
    if (came.applied) await this.#settle();
    this.#state = { ...this.#state, actorUpdates: actorUpdates + (came.untrained === null ? 1 : 0) };
    const entropy = meanOf(steps, (step) => step.entropy);
    const metrics = together(
      analysed,
      surrogate,
      mismatch,
      used.result(),
      measured(
        [learner.pgLoss, meanOf(steps, (step) => step.surrogate)],
        [learner.entropy, entropy],
        [learner.entropyLoss, entropy],
        [learner.klLoss, meanOf(steps, ({ kl }) => kl)],
        [learner.klCoefficient, targets.reference === undefined ? undefined : options.kl_loss_coef],
        [learner.gradNorm, meanOf(steps, ({ norm }) => norm)],
        [learner.lr, lr],
        [learner.skipped, skipped(steps)],
        [learner.miniBatches, steps.length],
      ),
    );
    return { ...came, metrics };
  }

  /**
   * One optimiser step of the actor per mini-batch of the batch. `ofWhole`: the mismatch where the whole batch was scored before; else that of
   * the first mini-batch is taken. `used` gets the weights that depend on the step.
   */
  async #stepActor(
    batch: CreditedBatch,
    targets: PolicyTargets,
    lr: number,
    ofWhole: Metrics | undefined,
    used: WeightMetrics,
  ): Promise<ActorSteps> {
    const { version } = this.#state;
    const { actor, algorithm } = this.#options;
    const options = policyLossOptions(actor, algorithm);
    const surrogate = new LossMetrics(options, version);
    const sampled = { ...sampledOnly(batch), mu: targets.old };
    const logp = new Float32Array(batch.ids.length);
    const steps: PolicyStep[] = [];
    let mismatch = ofWhole;
    const notFinite = inputFault(batch, targets);
    const minis = this.#miniBatches(batch);
    for (const [taken, mini] of minis.entries()) {
      if (notFinite !== null) {
        steps.push({ surrogate: Number.NaN, entropy: Number.NaN, kl: undefined, ...untaken(notFinite) });
        continue;
      }
      const places = options.logLinear && logLinearPlaces(sampled, version, taken / minis.length);
      steps.push(await this.#policy.step(batch, mini, { ...targets, places }, lr, logp));
      const seen = places && interpolated(sampled, mini, { cap: algorithm.correction_cap, logp, places });
      if (seen !== undefined) used.add(sampled, mini, seen);
      surrogate.add(batch, mini, logp, seen?.old ?? targets.old);
      // Before the first step the weights are those at consumption.
      mismatch ??= mismatchMetrics(batch, mini, logp, version);
    }
    return { steps, surrogate: surrogate.result(), mismatch: mismatch ?? measured() };
  }
}
