/**
 * The draws of numpy's legacy `RandomState` (`np.random.seed` and the module's functions) seeded by an integer, bit for bit, for instances
 * that a Python program defines by a seed. `uniform` is its random_sample, `int` its randint(bound), `pick` its choice, and `shuffle` its
 * shuffle on a copy.
 */
import { checkBound, type Draws, shuffled } from "../../../domain/Random.ts";
import * as MersenneTwister from "./MersenneTwister.ts";
import { maskOf } from "./words.ts";

export interface NumpyLegacy extends Draws {
  /** Draws randint: uniform in [low, high). */
  readonly range: (low: number, high: number) => number;
  /** Draws the index that `choice(n, p=weights)` gives. */
  readonly weighted: (weights: readonly number[]) => number;
  /** Draws permutation(count): 0 … count - 1 in random order. */
  readonly permutation: (count: number) => number[];
}

/** The index of a uniform draw among normalised cumulative weights, as numpy sums them. */
export const weightedIndex = (weights: readonly number[], draw: number): number => {
  let sum = 0;
  const cumulative = weights.map((weight) => {
    sum += weight;
    return sum;
  });
  const place = cumulative.findIndex((edge) => draw < edge / sum);
  return place < 0 ? weights.length - 1 : place;
};

/** Draws uniformly in [0, most]: it masks words and draws again if one is too large. A range of one number takes no draw. */
export const maskedInterval = (most: number, uint32: () => number): number => {
  if (most === 0) return 0;
  if (most <= 0xffffffff) {
    const mask = maskOf(most);
    for (;;) {
      const draw = (uint32() & mask) >>> 0;
      if (draw <= most) return draw;
    }
  }
  const mask = maskOf(Math.floor(most / 4294967296));
  for (;;) {
    const draw = ((uint32() & mask) >>> 0) * 4294967296 + uint32();
    if (draw <= most) return draw;
  }
};

/** Makes a generator that is seeded by an integer in [0, 2^32), as numpy's is. */
export const numpyLegacy = (seed: number): NumpyLegacy => {
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffffffff) {
    throw new RangeError(`numpy's legacy generator takes seeds from 0 to 2^32 - 1, not ${seed}`);
  }
  const twister = MersenneTwister.fromWord(seed);
  const { uint32 } = twister;
  const uniform = (): number => MersenneTwister.uniformOf(twister);
  const int = (bound: number): number => {
    checkBound(bound, Number.MAX_SAFE_INTEGER);
    return maskedInterval(bound - 1, uint32);
  };
  const shuffle = <A>(items: readonly A[]): A[] => shuffled(items, int);
  return {
    uint32,
    uniform,
    int,
    range: (low, high) => low + int(high - low),
    pick: (items) => items[int(items.length)]!,
    weighted: (weights) => weightedIndex(weights, uniform()),
    shuffle,
    permutation: (count) => shuffle(Array.from({ length: count }, (_, i) => i)),
  };
};
