/**
 * Measures one draw of a token: the sampler's WebAssembly kernel and the same draw in plain JavaScript, in turn on the same rows. Rows are those
 * of a batch, so that each is copied from memory that the last draw did not touch.
 */
import { stream } from "../src/domain/Random.ts";
import type { Sampling } from "../src/generation/Policy.ts";
import { Sampler } from "../src/generation/Sampler.ts";
import { PlainSampler } from "../test/generation/plainSampler.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";

export interface Effort {
  /** Rows of a batch. */
  readonly rows: number;
  /** Batches that each sampler draws from. */
  readonly batches: number;
}

interface Case {
  readonly name: string;
  readonly sampling: Sampling;
  /** A sort for every row takes long, so fewer batches are drawn. */
  readonly share: number;
  readonly atLeast?: number;
}

const all: Sampling = { temperature: 1, topK: -1, topP: 1 };

const casesOf = (atLeast: number): readonly Case[] => [
  { name: "temperature 1", sampling: all, share: 1, atLeast },
  { name: "temperature 0.3", sampling: { ...all, temperature: 0.3 }, share: 1 },
  { name: "top-p 0.95", sampling: { ...all, topP: 0.95 }, share: 0.1, atLeast: 5 },
  { name: "top-k 50", sampling: { ...all, topK: 50 }, share: 0.1, atLeast: 5 },
];

/** Microseconds of a draw, the mean over a batch. */
const timeBatch = (sampler: Sampler | PlainSampler, logits: Float32Array, rows: number, sampling: Sampling): number => {
  const size = logits.length / rows;
  const begun = performance.now();
  for (let row = 0; row < rows; row++) sampler.draw(logits, row * size, sampling, (row + 0.5) / rows);
  return (1000 * (performance.now() - begun)) / rows;
};

/** Measures draws from rows of `size` ids. `atLeast` is how many times as fast as plain JavaScript a draw should be. */
export const measure = (size: number, atLeast: number, { batches, rows }: Effort): readonly Figure[] => {
  const random = stream({ seed: size, purpose: "play", counters: [] });
  const logits = Float32Array.from({ length: rows * size }, () => 2.5 * random.normal());
  const [sampler, plain] = [new Sampler(size), new PlainSampler(size)];
  return casesOf(atLeast).flatMap(({ name, sampling, share, ...target }) => {
    const micros: { kernel: number; plain: number }[] = [];
    const count = Math.ceil(share * batches);
    // The first batch compiles the code.
    for (let batch = 0; batch <= count; batch++) {
      const times = {
        kernel: timeBatch(sampler, logits, rows, sampling),
        plain: timeBatch(plain, logits, rows, sampling),
      };
      if (batch > 0) micros.push(times);
    }
    const title = `${size} ids, ${name}`;
    return [
      figureOf(`${title}: a draw`, "µs", samplesOf(micros.map(({ kernel }) => kernel))),
      figureOf(`${title}: plain JavaScript over it`, "", samplesOf(micros.map((time) => time.plain / time.kernel)), {
        ...(target.atLeast === undefined ? {} : { target: { atLeast: target.atLeast } }),
      }),
    ];
  });
};

const part = (size: number, atLeast: number, effort: Effort) => async () => {
  const figures = measure(size, atLeast, effort);
  return () => figures;
};

export const bench: Bench = {
  question: "what does a draw of a token cost, beside plain JavaScript?",
  parts: [part(636, 2.5, { rows: 128, batches: 400 }), part(49_152, 6, { rows: 64, batches: 40 })],
};
