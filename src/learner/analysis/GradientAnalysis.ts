/**
 * Decomposition of the policy's gradient (RAGEN-2, arXiv 2604.06268): norms of the task, entropy and KL gradients, by buckets of groups
 * with little or much reward variance. It changes no weights. A bucket is cut into mini-batches as in an update, and its figures are their
 * means.
 */
import { type AnalysisGroups, analysisGroups } from "../../config/analysisGroups.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { boundsOf, type CreditedBatch, sequences as countOf } from "../../domain/Batch.ts";
import { analysis, gradients, type gradientsPrefilter } from "../../domain/metrics/diagnostics.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { maximum, mean } from "../../domain/Statistics.ts";
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";
import { trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import { type LossArrayOptions, lossArrayOptions, lossArrays } from "../Actor.ts";
import { miniBatches } from "../batches.ts";
import type { CustomParts } from "../CustomParts.ts";
import type { Lanes, LaneWeights, Pass } from "../lanes/Lanes.ts";
import { scalar, scalarOf, splitIntoMicros } from "../microInputs.ts";
import { type LossAlgorithm, passOptions, policyLossOptions } from "../models.ts";
import { normOf } from "../optimiser/AdamW.ts";
import type { PolicyTargets } from "../TrainedPolicy.ts";
import { type Bucket, bucketsOf, ratedGroups } from "./buckets.ts";
import { partsModel } from "./partsModel.ts";

/** The run file's keys of the analysis. */
export interface AnalysisOptions
  extends Pick<
    RunConfig["trainer"],
    | "gradient_analysis_mode"
    | "gradient_analysis_every"
    | "gradient_analysis_num_buckets"
    | "gradient_analysis_bucket_mode"
    | "gradient_analysis_only"
    | "gradient_analysis_log_prefilter"
    | "exit_after_gradient_analysis"
  > {
  /** Groups that are played for the analysis; null if it takes the batch that is trained on. */
  readonly playedGroups: AnalysisGroups | null;
}

export const analysisOptions = (config: RunConfig): AnalysisOptions => ({
  ...config.trainer,
  playedGroups: analysisGroups(config),
});

/** True if the window of this index is analysed: the first one, and every `gradient_analysis_every` after it. */
export const isDue = (options: Omit<AnalysisOptions, "playedGroups"> | undefined, window: number): boolean =>
  options?.gradient_analysis_mode === true && window % options.gradient_analysis_every === 0;

/** True if the batch that the window is trained on is analysed. */
export const analysesWindow = (options: AnalysisOptions | undefined, window: number): boolean =>
  options?.playedGroups === null && isDue(options, window);

/** True if the groups that the filter leaves out are analysed too. */
export const analysesUnfiltered = (options: AnalysisOptions, window: number): boolean =>
  options.gradient_analysis_log_prefilter && analysesWindow(options, window);

/** True if the run ends after the window. */
export const endsRun = (options: Omit<AnalysisOptions, "playedGroups">, window: number): boolean =>
  options.exit_after_gradient_analysis && isDue(options, window);

type Part = "task" | "entropy" | "kl";

/** Gradient norms and losses of one mini-batch. */
interface MiniBatchFigures {
  /** Norms of the gradients of the parts, with their coefficients. */
  readonly norms: Readonly<Partial<Record<Part, number>>>;
  readonly policy: number;
  readonly entropy: number;
  readonly kl: number | undefined;
}

const meanOf = <A>(items: readonly A[], value: (item: A) => number | undefined): number | undefined => {
  const values = items.flatMap((item) => value(item) ?? []);
  return values.length === 0 ? undefined : mean(values);
};

const perUnit = (value: number | undefined, count: number): number | undefined =>
  value === undefined || count === 0 ? undefined : value / count;

export class GradientAnalysis {
  readonly #actor: RunConfig["actor"];
  readonly #lossArrays: LossArrayOptions;
  readonly #options: AnalysisOptions;
  readonly #seed: number;
  readonly #open: () => Promise<Pass<"surrogate" | "entropy" | "kl", never>>;
  #pass: Promise<Pass<"surrogate" | "entropy" | "kl", never>> | undefined;

  constructor(
    config: DecoderConfig,
    options: {
      readonly actor: RunConfig["actor"];
      readonly algorithm: LossAlgorithm;
      readonly custom?: CustomParts | undefined;
      readonly analysis: AnalysisOptions;
      readonly seed: number;
    },
    lanes: Lanes,
  ) {
    const { actor, algorithm, custom } = options;
    const loss = policyLossOptions(actor, algorithm, custom?.loss);
    this.#actor = actor;
    this.#lossArrays = lossArrayOptions(actor, loss);
    this.#options = options.analysis;
    this.#seed = options.seed;
    const parts = ["surrogate", "entropy", ...(actor.use_kl_loss ? (["kl"] as const) : [])] as const;
    this.#open = () =>
      lanes.pass({
        model: partsModel(config, loss, trainedParameters(config), passOptions(actor)),
        trained: trainedParameters(config),
        sums: parts,
        rows: [],
      });
  }

  /** Decomposes the batch's gradient under the weights. `families` are its metrics, by default `grad_norm/…`. */
  async decompose(
    weights: LaneWeights,
    batch: CreditedBatch,
    targets: PolicyTargets,
    families: MetricFamilies = gradients,
  ): Promise<Metrics> {
    const { gradient_analysis_bucket_mode: mode, gradient_analysis_num_buckets: count } = this.#options;
    const parts: Metrics[] = [];
    for (const bucket of bucketsOf(ratedGroups(batch), mode, count)) {
      parts.push(await this.#bucketMetrics(weights, batch, targets, bucket, families));
    }
    return mergeMetrics(...parts);
  }

  /** The parts of the update's loss, with their coefficients. */
  get #coefficients(): readonly (readonly [Part, number])[] {
    const { entropy_coeff, kl_loss_coef, use_kl_loss } = this.#actor;
    return [
      ["task", 1],
      ...(entropy_coeff === 0 ? [] : ([["entropy", -entropy_coeff]] as const)),
      ...(use_kl_loss ? ([["kl", kl_loss_coef]] as const) : []),
    ];
  }

  async #miniBatchFigures(
    weights: LaneWeights,
    batch: CreditedBatch,
    targets: PolicyTargets,
    mini: readonly number[],
  ): Promise<MiniBatchFigures> {
    this.#pass ??= this.#open();
    const pass = await this.#pass;
    const { reference } = targets;
    const arrays = lossArrays(batch, mini, targets, this.#lossArrays);
    const norms: Partial<Record<Part, number>> = {};
    let losses: Omit<MiniBatchFigures, "norms"> = { policy: Number.NaN, entropy: Number.NaN, kl: undefined };
    for (const [part, coefficient] of this.#coefficients) {
      const weigh = (candidate: Part) => scalar(candidate === part ? coefficient : 0);
      const inputs = splitIntoMicros(batch, mini, this.#actor, arrays, {
        temperature: scalar(batch.temperature),
        task_weight: weigh("task"),
        entropy_weight: weigh("entropy"),
        ...(reference === undefined ? {} : { kl_weight: weigh("kl") }),
      });
      const { totals } = await pass.run(weights, inputs.inputs);
      if (totals === null) continue;
      const { gradients, sums } = totals;
      norms[part] = normOf(gradients);
      const kl = reference === undefined ? undefined : scalarOf(sums.kl);
      losses = { policy: scalarOf(sums.surrogate), entropy: scalarOf(sums.entropy), kl };
    }
    return { norms, ...losses };
  }

  async #bucketMetrics(
    weights: LaneWeights,
    batch: CreditedBatch,
    targets: PolicyTargets,
    bucket: Bucket,
    families: MetricFamilies,
  ): Promise<Metrics> {
    const { ppo_mini_batch_size } = this.#actor;
    const sequences = bucket.groups.flatMap((group) => group.sequences).toSorted((a, b) => a - b);
    const cut = miniBatches(sequences.length, ppo_mini_batch_size, {
      seed: this.#seed,
      window: batch.window,
      epoch: 0,
    });
    const minis: MiniBatchFigures[] = [];
    for (const mini of cut) {
      minis.push(
        await this.#miniBatchFigures(
          weights,
          batch,
          targets,
          mini.map((i) => sequences[i]!),
        ),
      );
    }
    return mergeMetrics(
      partMetrics(families, bucket.name, minis, { sequences: sequences.length, tokens: tokensOf(batch, sequences) }),
      lossMetrics(families, bucket.name, minis, this.#actor),
      sizeMetrics(families, bucket, sequences.length, countOf(batch)),
    );
  }
}

type MetricFamilies = typeof gradients | typeof gradientsPrefilter;

const tokensOf = (batch: CreditedBatch, sequences: readonly number[]): number =>
  sequences
    .map((sequence) => batch.mask.subarray(...boundsOf(batch, sequence)).reduce((total, m) => total + m, 0))
    .reduce((a, b) => a + b, 0);

const partMetrics = (
  families: MetricFamilies,
  bucket: string,
  minis: readonly MiniBatchFigures[],
  counts: { readonly sequences: number; readonly tokens: number },
): Metrics =>
  metricsFrom(
    ...(["task", "entropy", "kl"] as const).flatMap((part) => {
      const norm = meanOf(minis, ({ norms }) => norms[part]);
      const labels = { bucket, part };
      return [
        [families.norm.of(labels), norm] as const,
        [families.perSample.of(labels), perUnit(norm, counts.sequences)] as const,
        [families.perToken.of(labels), perUnit(norm, counts.tokens)] as const,
        ...(bucket === "all" && families === gradients ? [[analysis.ofAll.of({ part }), norm] as const] : []),
      ];
    }),
  );

const lossMetrics = (
  families: MetricFamilies,
  bucket: string,
  minis: readonly MiniBatchFigures[],
  { entropy_coeff, kl_loss_coef }: RunConfig["actor"],
): Metrics => {
  const parts = {
    policy: meanOf(minis, ({ policy }) => policy),
    entropy: meanOf(minis, ({ entropy }) => entropy),
    kl: meanOf(minis, ({ kl }) => kl),
    total: meanOf(minis, ({ entropy, kl, policy }) => policy - entropy_coeff * entropy + kl_loss_coef * (kl ?? 0)),
  };
  return metricsFrom(
    ...Object.entries(parts).flatMap(([part, value]) => [
      [families.loss.of({ bucket, part }), value] as const,
      ...(bucket === "all" && families === gradients ? [[analysis.lossOfAll.of({ part }), value] as const] : []),
    ]),
  );
};

const sizeMetrics = (families: MetricFamilies, { groups, name }: Bucket, sequences: number, total: number): Metrics => {
  const labels = { bucket: name };
  const stds = groups.map(({ std }) => std);
  return metricsFrom(
    [families.samples.of(labels), sequences],
    [families.percent.of(labels), (100 * sequences) / total],
    [families.stdMean.of(labels), mean(stds)],
    [families.stdMin.of(labels), Math.min(...stds)],
    [families.stdMax.of(labels), maximum(stds)],
    [families.groups.of(labels), groups.length],
  );
};
