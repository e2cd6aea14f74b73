/**
 * Measures how long a long prompt keeps decoding sequences from their next token: eight sequences of a 135 M model decode while prompts of 1 536
 * tokens arrive, one after the other. A gap is the time between two decode steps, each of which gives every decoding sequence a token.
 */

import { GeneratorLoop } from "../src/generation/GeneratorLoop.ts";
import { open } from "../src/generation/OnnxModel.ts";
import type { GenerateRequest } from "../src/generation/Policy.ts";
import type { ReplyCallbacks } from "../src/generation/Reply.ts";
import * as StopMatcher from "../src/model/tokenizer/StopMatcher.ts";
import { fullPayload } from "../src/model/weights/Weights.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { large, randomWeights, sizeOf } from "./models.ts";
import { quantile, samplesOf } from "./samples.ts";

const DECODING = 8;
const TOKENS = 160;
const LONG = 1536;
const PROMPTS = 3;
/** Decode steps between two long prompts, and before the first. */
const BETWEEN = 32;

const requestOf = (sequence: number, prompt: number, maxTokens: number): GenerateRequest => ({
  sequence,
  append: new Int32Array(prompt).fill(7),
  sharedPrefix: 0,
  maxTokens,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [sequence] },
  pin: null,
});

/** Milliseconds between the decode steps of a run whose prefills have at most so many tokens. */
const measureGaps = async (prefillTokens: number): Promise<readonly number[]> => {
  const model = await open(large, { intraOpThreads: 2, prepacks: true });
  const ends: number[] = [];
  const onStep: (() => void)[] = [];
  const timed: typeof model = {
    ...model,
    step: async (...given) => {
      const outputs = await model.step(...given);
      ends.push(performance.now());
      for (const notify of onStep) notify();
      return outputs;
    },
  };
  const loop = new GeneratorLoop(
    timed,
    { version: 0, payload: fullPayload(randomWeights(large).flat) },
    {
      slots: 16,
      stopIds: [],
      prefillTokens,
      prefillRows: 1,
      prefillPatience: 0,
      refeeding: "exact",
      kvOnUpdate: "keep",
      stops: StopMatcher.matchers([], () => Uint8Array.of(97)),
      retention: { kept: 1, isStrict: false },
      onAdopted: () => {},
    },
  );
  const reply = (request: GenerateRequest) =>
    new Promise<unknown>((done, fail: ReplyCallbacks["fail"]) => {
      loop.generate(request, { done, fail });
    });
  const long: Promise<unknown>[] = [];
  onStep.push(() => {
    if (ends.length % BETWEEN === 0 && long.length < PROMPTS)
      long.push(reply(requestOf(DECODING + long.length, LONG, 1)));
  });
  await Promise.all(Array.from({ length: DECODING }, (_, sequence) => reply(requestOf(sequence, 64, TOKENS))));
  await Promise.all(long);
  await loop.close();
  return ends.slice(1).map((end, i) => end - ends[i]!);
};

const part = (prefillTokens: number) => async () => {
  const gaps = (await measureGaps(prefillTokens)).toSorted((a, b) => a - b);
  const title = `${sizeOf(large)}, ${DECODING} sequences decode, prompts of ${LONG} in chunks of ${prefillTokens}`;
  const gap = (name: string, value: number): Figure => ({ name: `${title}: ${name}`, value, unit: "ms" });
  return () => [
    figureOf(`${title}: between tokens`, "ms", samplesOf(gaps)),
    gap("p99", quantile(gaps, 0.99)),
    gap("longest", gaps.at(-1)!),
  ];
};

export const bench: Bench = {
  question: "how long does a long prompt keep others from their next token?",
  parts: [2048, 512, 256, 128].map(part),
};
