/**
 * The sampler in plain JavaScript: three passes over the ids in order, and a sort of all of them for top-k and top-p. The sampler of src/
 * draws the same ids and is timed against this.
 */
import type { Sampling } from "../../src/generation/Policy.ts";

const whole = Float64Array.from({ length: 64 }, (_, k) => Math.exp(-k));
const parts = Float64Array.from({ length: 256 }, (_, k) => Math.exp(-k / 256));

/** Computes e^z for z in (-64, 0], to 1e-14, from two table entries and a short series. */
const exponential = (z: number): number => {
  const n = (-256 * z) | 0;
  const r = z + n / 256;
  return whole[n >> 8]! * parts[n & 255]! * (1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24)))));
};

export class PlainSampler {
  /** Results of the last `draw`. */
  id = 0;
  mu = 0;
  entropy = 0;

  readonly #size: number;
  /** Unnormalised probabilities. */
  readonly #weights: Float64Array;
  readonly #kept: Int32Array;

  /** `size` is the number of ids in the vocabulary. */
  constructor(size: number) {
    this.#size = size;
    this.#weights = new Float64Array(size);
    this.#kept = new Int32Array(size);
  }

  /** Draws from finite logits with `uniform` in [0, 1), at a temperature above 0. */
  draw(logits: Float32Array, start: number, sampling: Sampling, uniform: number): void {
    const size = this.#size;
    const weights = this.#weights;
    let likeliest = 0;
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < size; i++) {
      const logit = logits[start + i]!;
      if (logit > largest) {
        largest = logit;
        likeliest = i;
      }
    }
    const scale = 1 / sampling.temperature;
    let sum = 0;
    // The sum of weight * log weight gives the entropy, log(sum) - moment / sum.
    let moment = 0;
    for (let i = 0; i < size; i++) {
      const z = (logits[start + i]! - largest) * scale;
      // A weight below e^-40 is lost in the sum's rounding.
      const weight = z < -40 ? 0 : exponential(z);
      weights[i] = weight;
      sum += weight;
      if (weight > 0) moment += weight * z;
    }
    const isTruncated = (sampling.topK > 0 && sampling.topK < size) || sampling.topP < 1;
    if (isTruncated) {
      this.#truncate(sampling, sum);
      sum = 0;
      moment = 0;
      for (let i = 0; i < size; i++) {
        const weight = weights[i]!;
        if (weight > 0) {
          sum += weight;
          moment += weight * (logits[start + i]! - largest) * scale;
        }
      }
    }

    const id = this.#idAt(uniform * sum) ?? likeliest;
    const logSum = Math.log(sum);
    this.id = id;
    this.mu = (logits[start + id]! - largest) * scale - logSum;
    this.entropy = logSum - moment / sum;
  }

  /** Returns the first id at which the running sum of weights passes `target`; undefined if rounding keeps it below. */
  #idAt(target: number): number | undefined {
    const size = this.#size;
    const weights = this.#weights;
    let cumulative = 0;
    for (let i = 0; i < size; i++) {
      cumulative += weights[i]!;
      if (cumulative > target) return i;
    }
    return undefined;
  }

  /** Sets the weight of every id outside the top-k and top-p sets to 0. The lower of equal ids is kept. */
  #truncate({ topK, topP }: Sampling, sum: number): void {
    const size = this.#size;
    const weights = this.#weights;
    for (let i = 0; i < size; i++) this.#kept[i] = i;
    const order = this.#kept.sort((a, b) => weights[b]! - weights[a]! || a - b);
    let count = topK > 0 ? Math.min(topK, size) : size;
    if (topP < 1) {
      let mass = 0;
      if (count < size) for (let i = 0; i < count; i++) mass += weights[order[i]!]!;
      else mass = sum;
      const enough = topP * mass;
      let cumulative = 0;
      let nucleus = 0;
      while (nucleus < count && (nucleus === 0 || cumulative < enough)) cumulative += weights[order[nucleus++]!]!;
      count = nucleus;
    }
    for (let i = count; i < size; i++) weights[order[i]!] = 0;
  }
}
