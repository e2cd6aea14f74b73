/**
 * The top-k and top-p sets of a row. Weights are added up in buckets of log weight, and only the bucket in which a set ends is sorted;
 * sorting the vocabulary would take a hundred times as long. Invariant: of equal logits the lower ids are kept.
 */
import type { Sampling } from "./Policy.ts";
import { CUTOFF, type SoftmaxRow } from "./SoftmaxRow.ts";
import { BLOCK } from "./softmaxKernel.ts";

const BUCKETS_PER_NAT = 32;
const BUCKETS = CUTOFF * BUCKETS_PER_NAT + 1;
/** The bucket of ids whose weight is 0. */
const NONE = BUCKETS;

/** Returns true if the parameters may keep fewer than all `size` ids. */
export const truncates = ({ topK, topP }: Sampling, size: number): boolean => (topK > 0 && topK < size) || topP < 1;

/** The end of a set of likeliest ids. */
interface Boundary {
  /** Ids of the set's last bucket, the likeliest first. */
  readonly ids: Int32Array;
  /** The set has the first `kept` of them. */
  readonly kept: number;
  /** Sum of the set's weights. */
  readonly mass: number;
}

export class Truncation {
  readonly #row: SoftmaxRow;
  /** Weights and buckets by id. */
  readonly #weights: Float64Array;
  readonly #bucketOf: Uint16Array;
  readonly #counts = new Int32Array(BUCKETS);
  readonly #masses = new Float64Array(BUCKETS);

  constructor(row: SoftmaxRow) {
    this.#row = row;
    this.#weights = new Float64Array(row.logits.length);
    this.#bucketOf = new Uint16Array(row.logits.length);
  }

  /**
   * Returns the lowest logit of the ids to keep; undefined if all are kept. Ids with this logit that are not kept are taken out of the row,
   * which has been prepared without a limit.
   */
  limit({ topK, topP }: Sampling, scale: number): number | undefined {
    const total = this.#fillBuckets(scale);
    const most = topK > 0 ? topK : Number.POSITIVE_INFINITY;
    let end = topK > 0 ? this.#endOf((count) => count >= most) : undefined;
    if (topP < 1) {
      const enough = topP * (end?.mass ?? total);
      end = this.#endOf((count, mass) => mass >= enough || count >= most);
    }
    if (end === undefined) return undefined;
    const { logits } = this.#row;
    const limit = logits[end.ids[end.kept - 1]!]!;
    for (const id of end.ids.subarray(end.kept)) if (logits[id] === limit) this.#row.exclude(id);
    return limit;
  }

  /** Counts and adds up the weights of each bucket; returns the sum of all. */
  #fillBuckets(scale: number): number {
    const [row, weights, bucketOf] = [this.#row, this.#weights, this.#bucketOf];
    const [counts, masses] = [this.#counts.fill(0), this.#masses.fill(0)];
    const { blockWeights, largest, logits } = row;
    const perLogit = BUCKETS_PER_NAT * scale;
    let total = 0;
    for (let block = 0; block < row.blocks; block++) {
      const first = BLOCK * block;
      if (!row.weighBlock(block)) {
        bucketOf.fill(NONE, first, first + BLOCK);
        continue;
      }
      for (let i = 0; i < BLOCK; i++) {
        const weight = blockWeights[i]!;
        weights[first + i] = weight;
        const bucket = weight === 0 ? NONE : Math.min(((largest - logits[first + i]!) * perLogit) | 0, BUCKETS - 1);
        bucketOf[first + i] = bucket;
        if (bucket === NONE) continue;
        counts[bucket]!++;
        masses[bucket]! += weight;
        total += weight;
      }
    }
    return total;
  }

  /** Returns the end of the smallest set of likeliest ids that is enough, one at least; undefined if not even all are. */
  #endOf(isEnough: (count: number, mass: number) => boolean): Boundary | undefined {
    let count = 0;
    let mass = 0;
    let bucket = 0;
    while (bucket < BUCKETS && !isEnough(count + this.#counts[bucket]!, mass + this.#masses[bucket]!)) {
      count += this.#counts[bucket]!;
      mass += this.#masses[bucket]!;
      bucket++;
    }
    if (bucket === BUCKETS) return undefined;
    const ids = this.#sortedIds(bucket);
    let kept = 0;
    do mass += this.#weights[ids[kept++]!]!;
    while (kept < ids.length && !isEnough(count + kept, mass));
    return { ids, kept, mass };
  }

  /** Returns the ids of a bucket, the likeliest first and the lower of equals first. */
  #sortedIds(bucket: number): Int32Array {
    const bucketOf = this.#bucketOf;
    const ids = new Int32Array(this.#counts[bucket]!);
    let count = 0;
    for (let id = 0; count < ids.length; id++) if (bucketOf[id] === bucket) ids[count++] = id;
    const { logits } = this.#row;
    // Equal logits are in order already; a row of nothing else would be slow to sort.
    if (ids.every((id) => logits[id] === logits[ids[0]!])) return ids;
    return ids.sort((a, b) => logits[b]! - logits[a]! || a - b);
  }
}
