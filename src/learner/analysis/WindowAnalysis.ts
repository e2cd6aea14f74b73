/** Runs the gradient analysis on the windows that are due. Invariant: nothing that an update depends on changes. */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { CreditedBatch } from "../../domain/Batch.ts";
import { analysis, gradients, gradientsPrefilter } from "../../domain/metrics/diagnostics.ts";
import { type Metrics, mergeMetrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import type { CustomParts } from "../CustomParts.ts";
import type { LocalNetworks } from "../LocalNetworks.ts";
import { PhaseTimes } from "../PhaseTimes.ts";
import type { PolicyBatch, PolicyUpdate } from "../PolicyUpdate.ts";
import { type AnalysisOptions, analysesWindow, endsRun, GradientAnalysis } from "./GradientAnalysis.ts";

export interface WindowAnalysisOptions extends Pick<RunConfig, "actor" | "algorithm"> {
  readonly seed: number;
  readonly custom?: CustomParts | undefined;
  readonly analysis: AnalysisOptions;
}

export class WindowAnalysis {
  readonly #networks: LocalNetworks;
  readonly #policy: PolicyUpdate;
  readonly #options: AnalysisOptions;
  readonly #gradients: GradientAnalysis;

  constructor(networks: LocalNetworks, policy: PolicyUpdate, options: WindowAnalysisOptions) {
    this.#networks = networks;
    this.#policy = policy;
    this.#options = options.analysis;
    this.#gradients = new GradientAnalysis(networks.config, options, networks.lanes);
  }

  /** Analyses the batch that is trained on, and all usable groups of its window; returns no metrics if the window is not due. */
  async analyseTrained(
    prepared: PolicyBatch,
    unfiltered: CreditedBatch | undefined,
    phases: PhaseTimes,
  ): Promise<Metrics> {
    const { window } = prepared.batch;
    if (!analysesWindow(this.#options, window)) return metricsFrom();
    const metrics = await phases.time("gradient_analysis", async () =>
      mergeMetrics(
        await this.#decompose(prepared, gradients),
        await this.#prepareAndDecompose(unfiltered, gradientsPrefilter),
      ),
    );
    const exited = endsRun(this.#options, window) ? 1 : undefined;
    return mergeMetrics(metrics, metricsFrom([analysis.usesWindow, 1], [analysis.exited, exited]));
  }

  /** Analyses batches that are not trained on. */
  async analyseUntrained(kept: CreditedBatch | undefined, unfiltered: CreditedBatch | undefined): Promise<Metrics> {
    return mergeMetrics(
      await this.#prepareAndDecompose(kept, gradients),
      await this.#prepareAndDecompose(unfiltered, gradientsPrefilter),
    );
  }

  async #prepareAndDecompose(batch: CreditedBatch | undefined, families: MetricFamilies): Promise<Metrics> {
    if (batch === undefined) return metricsFrom();
    return this.#decompose(await this.#policy.prepare(batch, new PhaseTimes()), families);
  }

  #decompose({ batch, targets }: PolicyBatch, families: MetricFamilies): Promise<Metrics> {
    return this.#gradients.decompose(this.#networks.policy.network, batch, targets, families);
  }
}

type MetricFamilies = typeof gradients | typeof gradientsPrefilter;
