import { describe, expect, it } from "vitest";
import { allSequences } from "../../../src/domain/Batch.ts";
import { analysis, gradients, gradientsPrefilter } from "../../../src/domain/metrics/diagnostics.ts";
import { learner } from "../../../src/domain/metrics/learner.ts";
import { type Metrics, toRecord, valueIn } from "../../../src/domain/metrics/Metrics.ts";
import { Actor } from "../../../src/learner/Actor.ts";
import { type AnalysisOptions, GradientAnalysis } from "../../../src/learner/analysis/GradientAnalysis.ts";
import { Lanes } from "../../../src/learner/lanes/Lanes.ts";
import { Trainer } from "../../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../../src/learner/TrainerOptions.ts";
import { creditedBatch } from "../../build/batches.ts";
import { actorDefaults, tiny, tinyParameters, trainerOptions } from "../model.ts";

const options: AnalysisOptions = {
  gradient_analysis_mode: true,
  gradient_analysis_every: 3,
  gradient_analysis_num_buckets: 2,
  gradient_analysis_bucket_mode: "quantile",
  gradient_analysis_only: false,
  gradient_analysis_log_prefilter: false,
  exit_after_gradient_analysis: false,
  playedGroups: null,
};
const batch = creditedBatch({
  seed: 3,
  lengths: [20, 31, 9, 17, 24, 12, 15, 22],
  vocabulary: tiny.vocabSize,
  groupSize: 2,
});
const reference = Float32Array.from(batch.mu, (mu) => mu - 0.2);
const targets = {
  old: batch.mu,
  importance: new Float32Array(batch.ids.length).fill(1),
  advantages: batch.advantages,
  reference,
};
const actor = {
  ...actorDefaults,
  entropy_coeff: 0.3,
  use_kl_loss: true,
  kl_loss_coef: 0.2,
  ppo_mini_batch_size: 64,
  micro_batch_tokens: 64,
};

const algorithm = { correction: "none", correction_cap: 0 } as const;

const decompose = async (over: Partial<typeof actor> = {}): Promise<Metrics> => {
  await using lanes = await Lanes.open(1, 1);
  const parameters = tinyParameters();
  const used = { ...actor, ...over };
  const owner = await Actor.open(tiny, parameters, { actor: used, algorithm, lanes });
  const gradientAnalysis = new GradientAnalysis(tiny, { actor: used, algorithm, analysis: options, seed: 1 }, lanes);
  return gradientAnalysis.decompose(owner.network, batch, {
    ...targets,
    reference: used.use_kl_loss ? reference : undefined,
  });
};

/** The metrics of the whole update, computed once. */
let usual: Promise<Metrics> | undefined;
const ofUpdate = (): Promise<Metrics> => {
  usual ??= decompose();
  return usual;
};

/** Gradient of the update's loss over the whole batch, under other coefficients. */
const updateGradient = async (over: Partial<typeof actor>) => {
  await using lanes = await Lanes.open(1, 1);
  const used = { ...actor, ...over };
  const owner = await Actor.open(tiny, tinyParameters(), { actor: used, algorithm, lanes });
  const result = await owner.gradient(batch, allSequences(batch), targets, new Float32Array(batch.ids.length));
  if (result === null) throw new Error("no gradient");
  return { ...result, gradient: Float32Array.from(result.gradients.flatMap((each) => Array.from(each))) };
};

const norm = (gradient: Float32Array): number => Math.hypot(...gradient);
const normOf = (bucket: string, part: string) => gradients.norm.of({ bucket, part });

describe("the decomposition of the gradient", () => {
  it("gives each part the gradient that it has in the update", async () => {
    const metrics = await ofUpdate();
    const none = { entropy_coeff: 0, kl_loss_coef: 0 };
    const task = await updateGradient(none);
    const less = (a: Float32Array, b: Float32Array) => a.map((value, i) => value - b[i]!);
    const withEntropy = await updateGradient({ ...none, entropy_coeff: 0.3 });
    const withKl = await updateGradient({ ...none, kl_loss_coef: 0.2 });
    expect(valueIn(metrics, normOf("all", "task"))).toBeCloseTo(norm(task.gradient), 4);
    expect(valueIn(metrics, normOf("all", "entropy"))).toBeCloseTo(norm(less(withEntropy.gradient, task.gradient)), 4);
    expect(valueIn(metrics, normOf("all", "kl"))).toBeCloseTo(norm(less(withKl.gradient, task.gradient)), 4);
    const loss = (part: string) => valueIn(metrics, gradients.loss.of({ bucket: "all", part })) ?? Number.NaN;
    expect(loss("policy")).toBeCloseTo(task.surrogate, 5);
    expect(loss("entropy")).toBeCloseTo(task.entropy, 5);
    expect(loss("kl")).toBeCloseTo(task.kl ?? Number.NaN, 5);
    expect(loss("total")).toBeCloseTo(loss("policy") - 0.3 * loss("entropy") + 0.2 * loss("kl"), 5);
  });

  it("tells of each bucket: sizes, rewards, norms by sequence and token", async () => {
    const metrics = await ofUpdate();
    const bucket = "bucket_1";
    const value = (family: { readonly of: (of: { bucket: string; part: string }) => { name: string } }) =>
      toRecord(metrics)[family.of({ bucket, part: "task" }).name];
    expect(value(gradients.samples)).toBe(4);
    expect(value(gradients.percent)).toBe(50);
    expect(value(gradients.groups)).toBe(2);
    expect(value(gradients.perSample)).toBeCloseTo((value(gradients.norm) ?? Number.NaN) / 4, 9);
    const [least, most] = [gradients.stdMin, gradients.stdMax].map(value);
    expect(least).toBeLessThanOrEqual(most ?? Number.NaN);
    expect(valueIn(metrics, gradients.stdMax.of({ bucket }))).toBeLessThanOrEqual(
      valueIn(metrics, gradients.stdMin.of({ bucket: "bucket_2" })) ?? Number.NaN,
    );
    expect(valueIn(metrics, analysis.ofAll.of({ part: "kl" }))).toBe(valueIn(metrics, normOf("all", "kl")));
  });

  it("has no part that the update has not", async () => {
    const names = Object.keys(toRecord(await decompose({ entropy_coeff: 0, use_kl_loss: false })));
    expect(names).toContain("grad_norm/all/task");
    expect(names.filter((name) => /\/(entropy|kl)$/.test(name) && !name.includes("loss"))).toEqual([]);
  });

  it("is the mean over mini-batches of the update's size", async () => {
    const [whole, halves] = [await ofUpdate(), await decompose({ ppo_mini_batch_size: 4 })];
    // A mean gradient over fewer sequences is longer.
    expect(valueIn(halves, normOf("all", "task"))).toBeGreaterThan(valueIn(whole, normOf("all", "task")) ?? Number.NaN);
    // Buckets are no larger than a mini-batch.
    expect(valueIn(halves, normOf("bucket_1", "task"))).toBe(valueIn(whole, normOf("bucket_1", "task")));
  });
});

describe("an update with analysis", () => {
  const open = (analysis?: AnalysisOptions, over: Partial<TrainerOptions> = {}) =>
    Trainer.open(tiny, tinyParameters(), {
      ...trainerOptions,
      ...over,
      ...(analysis === undefined ? {} : { analysis }),
    });
  const bits = (trainer: Trainer) => Buffer.from(trainer.networks.actor.parameters.flat.buffer).toString("base64");

  it("changes the same bits as one without, and analyses every so many windows", async () => {
    await using plain = await open();
    await using analysed = await open(options);
    const seen: boolean[] = [];
    for (let window = 0; window < 4; window++) {
      const { metrics: without } = await plain.update({ ...batch, window });
      const { metrics, seconds } = await analysed.update({ ...batch, window });
      seen.push(
        metrics.has(normOf("all", "task").name) && seconds.has(learner.timing.of({ phase: "gradient_analysis" }).name),
      );
      for (const [name, value] of without) expect(metrics.get(name)).toBe(value);
    }
    expect(bits(analysed)).toBe(bits(plain));
    expect(seen).toEqual([true, false, false, true]);
  });

  it("changes the same bits where other batches were analysed before it, and does not analyse the window then", async () => {
    const playedGroups = { env_groups: 3, group_size: 4, tags: ["Reach"], n_groups: [3], seed: 1, levels: {} } as const;
    const algorithm = { ...trainerOptions.algorithm, use_kl_in_reward: true };
    await using plain = await open(undefined, { algorithm });
    await using analysed = await open({ ...options, playedGroups }, { algorithm });
    const other = creditedBatch({ seed: 9, lengths: [12, 18, 9, 14], vocabulary: tiny.vocabSize, groupSize: 2 });
    for (let window = 0; window < 2; window++) {
      const decomposed = await analysed.analyse({ kept: { ...other, window }, unfiltered: { ...batch, window } });
      expect(valueIn(decomposed, normOf("all", "task"))).toBeGreaterThan(0);
      expect(valueIn(decomposed, gradientsPrefilter.samples.of({ bucket: "all" }))).toBe(8);
      const tokens = { kept: { ...batch, window }, unfiltered: undefined };
      const { metrics: without } = await plain.train(tokens);
      const { metrics } = await analysed.train(tokens);
      expect(toRecord(metrics)).toEqual(toRecord(without));
    }
    expect(bits(analysed)).toBe(bits(plain));
  });

  it("that trains nothing leaves all weights as they are and says so", async () => {
    await using trainer = await open({ ...options, gradient_analysis_only: true });
    const before = bits(trainer);
    const report = await trainer.update({ ...batch, window: 0 });
    expect(bits(trainer)).toBe(before);
    expect(report).toMatchObject({ applied: false, untrained: null, version: 0 });
    const { actorSkipped, criticSkipped, only } = analysis;
    expect([only, actorSkipped, criticSkipped].map((metric) => valueIn(report.metrics, metric))).toEqual([1, 1, 1]);
    expect(valueIn(report.metrics, normOf("all", "task"))).toBeGreaterThan(0);
  });
});
