/**
 * Measures what a generator in int8 gains, and its effect on mu. It counts tokens a second of both formats in turns,
 * behind cached prompts, on one thread. Where a real model's folder is at hand (bench/models), it also says how far
 * replies sampled in int8 are from the policy in float32.
 */
import { existsSync } from "node:fs";
import { Effect } from "effect";
import type { Sampled } from "../src/domain/Episode.ts";
import * as Generator from "../src/generation/Generator.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import type { NumberFormat } from "../src/model/graphs/NumberFormat.ts";
import { scoreModel } from "../src/model/graphs/Score.ts";
import { load, type Model } from "../src/model/Model.ts";
import { viewFeeds } from "../src/model/runtime/baseFeeds.ts";
import { float32, int64, Session } from "../src/model/runtime/Session.ts";
import { type Bench, type Figure, figureOf, type Measured } from "./Bench.ts";
import { ask, start, together } from "./generators.ts";
import { large, medium, sizeOf } from "./models.ts";
import { samplesOf } from "./samples.ts";

const FROM = 48;
const TOKENS = 24;

interface Case {
  readonly config: DecoderConfig;
  readonly batch: number;
  readonly pairs: number;
}

/** Milliseconds in which a batch of sequences samples `TOKENS` each, of round `round`. */
const decoded = (generator: Generator.Generator, { batch, config }: Case, round: number) =>
  Effect.gen(function* () {
    const sequences = Array.from({ length: batch }, (_, i) => batch * round + i);
    // The first reply has one token: when all have it, every prompt is cached.
    yield* together(sequences, (sequence) =>
      ask(generator, { config, sequence, append: FROM - 2, maxTokens: 1, turn: 1 }),
    );
    const begun = performance.now();
    yield* together(sequences, (sequence) =>
      ask(generator, { config, sequence, append: 1, maxTokens: TOKENS, turn: 2 }),
    );
    const ms = performance.now() - begun;
    yield* together(sequences, generator.release);
    return ms;
  });

const speed = (given: Case) => (): Promise<Measured> =>
  Effect.gen(function* () {
    const { batch, config, pairs } = given;
    const [whole, coded] = yield* Effect.forEach(["float32", "int8"] as const, (format) =>
      start({ config, threads: 1, slots: batch, format }),
    );
    if (whole === undefined || coded === undefined) throw new RangeError("two generators are started");
    const ratios: number[] = [];
    for (let round = 0; round <= pairs; round += 1) {
      const [one, other] = [yield* decoded(whole, given, round), yield* decoded(coded, given, round)];
      if (round > 0) ratios.push(one / other);
    }
    const name = `${sizeOf(config)}, batch ${batch}: tokens a second in int8 over float32`;
    return (): readonly Figure[] => [figureOf(name, "", samplesOf(ratios))];
  }).pipe(Effect.scoped, Effect.runPromise);

const FOLDER = "models/SmolLM2-135M-Instruct";

const questions = [
  "You walk on a frozen lake. Reach the goal G and do not step into a hole O.\nP _ _ _\n_ O _ _\n_ _ _ O\nO _ _ G\nAnswer with <answer>action</answer>.",
  "You play a bandit with two arms, Phoenix and Dragon. Answer with <answer>name</answer>.",
  "Make 95 from the numbers 67, 79 and 81, each used once. Answer with <answer>expression</answer>.",
  "What is the capital of France? Tell me a story about it.",
];

/** Log-probabilities under the folder's weights minus mu, of every token of replies that are sampled in a format. */
const distances = (model: Model, format: NumberFormat) =>
  Effect.gen(function* () {
    const { config, parameters } = model.checkpoint;
    const generator = yield* Generator.make({
      config,
      format,
      version: 0,
      parameters: parameters.flat,
      threads: 1,
      generation: { slots: 16, stop: [], kv_on_update: "keep", prefill_tokens: 2048 },
      stopIds: [],
      bytesOf: () => Uint8Array.of(97),
    });
    const prompts = questions.map((text) =>
      Int32Array.from(model.tokenizer.encode(`<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`)),
    );
    const replies = yield* together(
      Array.from({ length: 32 }, (_, i) => i),
      (sequence) =>
        generator.generate({
          sequence,
          append: prompts[sequence % prompts.length]!,
          sharedPrefix: 0,
          maxTokens: 48,
          sampling: { temperature: 1, topK: -1, topP: 1 },
          key: { seed: 1, purpose: "sampling", counters: [sequence] },
          pin: null,
        }),
    );
    return yield* Effect.promise(() => scored(model, prompts, replies));
  }).pipe(Effect.scoped);

const scored = async (model: Model, prompts: readonly Int32Array[], replies: readonly Sampled[]) => {
  const { config, parameters } = model.checkpoint;
  await using session = await Session.open(scoreModel(config), { threads: 2 });
  const found: number[] = [];
  for (const [i, { ids, mu }] of replies.entries()) {
    const prompt = prompts[i % prompts.length]!;
    const all = BigInt64Array.from([...prompt, ...ids], BigInt);
    const before = BigInt64Array.from({ length: ids.length }, (_, at) => BigInt(prompt.length + at - 1));
    using outputs = await session.run({
      ...viewFeeds(parameters),
      ids: int64(all, [1, all.length]),
      before: int64(before, [before.length]),
      temperature: float32(Float32Array.of(1), []),
    });
    for (const [at, logp] of outputs.float32("logp").entries()) found.push(logp - mu[at]!);
  }
  return found;
};

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

const offPolicy = (): Promise<Measured> =>
  Effect.gen(function* () {
    if (!existsSync(FOLDER)) return (): readonly Figure[] => [];
    const model = yield* load(FOLDER);
    const all: Figure[] = [];
    for (const format of ["float32", "int8"] as const) {
      const by = yield* distances(model, format);
      const weights = by.map(Math.exp);
      const figure = (name: string, unit: string, value: number): void => {
        all.push({ name: `SmolLM2-135M-Instruct, ${format}: ${name}`, unit, value, repetitions: by.length });
      };
      figure("mean |log pi - mu|", "nats", mean(by.map(Math.abs)));
      figure("KL(mu || pi), k3", "nats", mean(by.map((x) => Math.exp(x) - 1 - x)));
      figure("effective sample share under pi / mu", "", mean(weights) ** 2 / mean(weights.map((w) => w * w)));
    }
    return (): readonly Figure[] => all;
  }).pipe(Effect.runPromise);

export const bench: Bench = {
  question: "what does a generator in int8 gain, and how far is it from the policy?",
  parts: [
    speed({ config: medium, batch: 32, pairs: 7 }),
    speed({ config: large, batch: 8, pairs: 3 }),
    speed({ config: large, batch: 16, pairs: 3 }),
    speed({ config: large, batch: 64, pairs: 2 }),
    offPolicy,
  ],
};
