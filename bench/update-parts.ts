/**
 * Measures the cost of an update's parts, as ratios of whole updates that take turns: a critic (GAE over GRPO), and
 * prompts that a group shares. It uses one lane, and two threads for 135 M parameters with random weights.
 */
import { Trainer } from "../src/learner/Trainer.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import { learnerSections } from "../test/build/config.ts";
import { type Bench, figureOf, type Measured, type Target } from "./Bench.ts";
import { type BatchShape, batchOf } from "./batches.ts";
import { large, medium, randomWeights, sizeOf, small } from "./models.ts";
import { samplesOf } from "./samples.ts";

interface Side {
  readonly estimator: "gae" | "grpo";
  readonly shared: boolean;
}

interface Case {
  readonly name: string;
  readonly config: DecoderConfig;
  readonly batch: Omit<BatchShape, "vocabSize">;
  readonly threads: number;
  readonly microBatchTokens: number;
  readonly repetitions: number;
  /** Time of the first over that of the second. */
  readonly sides: readonly [Side, Side];
  readonly target: Target;
}

const openSide = ({ config, microBatchTokens, threads }: Case, { estimator, shared }: Side): Promise<Trainer> =>
  Trainer.open(config, randomWeights(config), {
    seed: 1,
    lanes: 1,
    threads,
    lossScaling: "none",
    totalUpdates: 1000,
    ...learnerSections({
      algorithm: { adv_estimator: estimator },
      actor: { micro_batch_tokens: microBatchTokens, ppo_mini_batch_size: 1024, use_prefix_grouper: shared },
    }),
  });

const measure = (given: Case) => async (): Promise<Measured> => {
  const { batch, config, name, repetitions, sides, target } = given;
  await using first = await openSide(given, sides[0]);
  await using second = await openSide(given, sides[1]);
  const shape = { ...batch, vocabSize: config.vocabSize };
  const timed = async (trainer: Trainer, window: number): Promise<number> => {
    const windowBatch = batchOf(shape, window);
    const begun = performance.now();
    const { values } = (await trainer.credit(windowBatch)).batch;
    await trainer.update({ ...windowBatch, values });
    return performance.now() - begun;
  };
  const ratios: number[] = [];
  for (let window = -1; window < repetitions; window++) {
    const [one, other] = [await timed(first, window + 1), await timed(second, window + 1)];
    if (window >= 0) ratios.push(one / other);
  }
  const note = `${batch.rows} x ${batch.time}, ${batch.trained} trained`;
  return () => [figureOf(`${sizeOf(config)}: ${name}`, "", samplesOf(ratios), { target, note })];
};

const grpo: Side = { estimator: "grpo", shared: false };
const critic = {
  name: "GAE's time over GRPO's",
  sides: [{ ...grpo, estimator: "gae" }, grpo],
  target: { atMost: 2.2 },
} as const;
const prompts = {
  name: "an update's time without shared prompts over that with them",
  sides: [grpo, { ...grpo, shared: true }],
  target: { atLeast: 2 },
} as const;

const long = { rows: 16, time: 256, trained: 128 };
const short = { rows: 32, time: 216, trained: 16, group: 8, shared: 200 };

const cases: readonly Case[] = [
  { ...critic, config: small, batch: long, threads: 1, microBatchTokens: 1024, repetitions: 9 },
  { ...critic, config: medium, batch: long, threads: 1, microBatchTokens: 1024, repetitions: 5 },
  {
    ...critic,
    config: large,
    batch: { rows: 4, time: 400, trained: 200 },
    threads: 2,
    microBatchTokens: 800,
    repetitions: 3,
  },
  { ...prompts, config: small, batch: short, threads: 1, microBatchTokens: 2048, repetitions: 9 },
  { ...prompts, config: medium, batch: short, threads: 1, microBatchTokens: 2048, repetitions: 5 },
];

export const bench: Bench = {
  question: "what do a critic and shared prompts change in the time of an update?",
  parts: cases.map(measure),
};
