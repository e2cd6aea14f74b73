/**
 * One row of logits and its softmax. A WebAssembly kernel adds up the weights e^((logit - largest) / temperature) by blocks of ids; single
 * weights are computed again only for the block that a draw falls into. Invariant: the row lives in the kernel's memory, so no call
 * allocates an array.
 */
import { BLOCK, EXTREMES, endsOf, type Kernel, OFFSET, openKernel, STEPS_PER_NAT } from "./softmaxKernel.ts";

/** Weights below e^-40 are lost in the sum's rounding, so they count as 0. */
export const CUTOFF = 40;

/** The lowest finite float32. */
const LOWEST = -(2 - 2 ** -23) * 2 ** 127;

export class SoftmaxRow {
  /** Logits by id, followed by -Infinity up to a whole block. */
  readonly logits: Float32Array;
  /** Weights of the block that was weighed last. */
  readonly blockWeights: Float64Array;
  readonly blocks: number;
  largest = 0;
  /** Sum of the weights. */
  total = 0;
  /** Sum of weight times log weight. */
  moment = 0;

  readonly #size: number;
  readonly #kernel: Kernel;
  readonly #ends: ReturnType<typeof endsOf>;
  /** Four maxima and four minima of each block. */
  readonly #extremes: Float32Array;
  /** Two sums of each block. */
  readonly #sums: Float64Array;
  readonly #maxima: Float32Array;
  readonly #notNumbers: Int32Array;
  readonly #moments: Float64Array;
  #rate = 0;
  #limit = 0;

  /** `size` is the number of ids. */
  constructor(size: number) {
    this.blocks = Math.ceil(size / BLOCK);
    this.#size = size;
    this.#kernel = openKernel(this.blocks);
    this.#ends = endsOf(this.blocks);
    const { memory } = this.#kernel;
    this.logits = new Float32Array(memory, OFFSET.row, BLOCK * this.blocks).fill(Number.NEGATIVE_INFINITY);
    this.blockWeights = new Float64Array(memory, OFFSET.weights, BLOCK);
    this.#extremes = new Float32Array(memory, this.#ends.row, EXTREMES * this.blocks);
    this.#sums = new Float64Array(memory, this.#ends.extremes, 2 * this.blocks);
    this.#maxima = new Float32Array(memory, OFFSET.largest, 4);
    this.#notNumbers = new Int32Array(memory, OFFSET.notNumbers, 4);
    this.#moments = new Float64Array(memory, OFFSET.moment, 2);
  }

  /** Copies `logits[start .. start + size)`. Returns false if one is NaN or +Infinity, or all are -Infinity. */
  read(logits: Float32Array, start: number): boolean {
    this.logits.set(logits.subarray(start, start + this.#size));
    this.#kernel.findExtremes(this.#ends.row);
    const [maxima, notNumbers] = [this.#maxima, this.#notNumbers];
    this.largest = Math.max(maxima[0]!, maxima[1]!, maxima[2]!, maxima[3]!);
    const hasNaN = (notNumbers[0]! | notNumbers[1]! | notNumbers[2]! | notNumbers[3]!) !== 0;
    return Number.isFinite(this.largest) && !hasNaN;
  }

  /** Returns the lowest id of the largest logit. */
  likeliest(): number {
    const { largest, logits } = this;
    let block = 0;
    while (this.#maximumOf(block) < largest) block++;
    let id = BLOCK * block;
    while (logits[id]! < largest) id++;
    return id;
  }

  /** Sets the scale of log weights. Logits below `limit` get the weight 0, and so do those of weights below the cutoff. */
  prepare(scale: number, limit = LOWEST): void {
    this.#rate = scale * STEPS_PER_NAT;
    this.#limit = Math.max(limit, Math.fround(this.largest - CUTOFF / scale), LOWEST);
  }

  /** Adds up the weights and weights times log weights. */
  weigh(): void {
    const { extremes, row } = this.#ends;
    this.#kernel.weigh(row, extremes, this.largest, this.#rate, this.#limit);
    const sums = this.#sums;
    let total = 0;
    for (let i = 0; i < sums.length; i += 2) total += sums[i]! + sums[i + 1]!;
    this.total = total;
    this.moment = (this.#moments[0]! + this.#moments[1]!) / STEPS_PER_NAT;
  }

  /** Computes the weights of one block. Returns false, and may leave others', if all are 0. */
  weighBlock(block: number): boolean {
    if (this.#maximumOf(block) < this.#limit) return false;
    this.#kernel.weighBlock(OFFSET.row + 4 * BLOCK * block, OFFSET.weights, this.largest, this.#rate, this.#limit);
    return true;
  }

  /** Returns the first id at which the running sum of weights passes `target`, after `weigh`; undefined if it never does. */
  idAt(target: number): number | undefined {
    const sums = this.#sums;
    let before = 0;
    for (let block = 0; block < this.blocks; block++) {
      const after = before + (sums[2 * block]! + sums[2 * block + 1]!);
      if (after > target) return this.#idInBlock(block, target - before);
      before = after;
    }
    return undefined;
  }

  /** Takes an id out of the row. */
  exclude(id: number): void {
    this.logits[id] = Number.NEGATIVE_INFINITY;
    this.#extremes[EXTREMES * Math.floor(id / BLOCK) + EXTREMES - 1] = Number.NEGATIVE_INFINITY;
  }

  #maximumOf(block: number): number {
    const [extremes, first] = [this.#extremes, EXTREMES * block];
    return Math.max(extremes[first]!, extremes[first + 1]!, extremes[first + 2]!, extremes[first + 3]!);
  }

  #idInBlock(block: number, target: number): number {
    this.weighBlock(block);
    const weights = this.blockWeights;
    let sum = 0;
    let last = 0;
    for (let i = 0; i < BLOCK; i++) {
      const weight = weights[i]!;
      if (weight === 0) continue;
      sum += weight;
      if (sum > target) return BLOCK * block + i;
      last = i;
    }
    // Added one by one, the weights may sum up to a rounding less than by pairs.
    return BLOCK * block + last;
  }
}
