/**
 * The draws of numpy's `default_rng(seed)`, bit for bit, for instances that a Python program defines by a seed. A seed sequence (O'Neill's
 * seed_seq design) seeds PCG64, the 128-bit linear congruential generator with XSL-RR output (O'Neill, "PCG", HMC-CS-2014-0905). `int` is
 * `integers(bound)` by Lemire's multiplication (ACM TOMACS 29, 2019), and `shuffle` is its shuffle on a copy.
 */
import { checkBound, type Draws, shuffled } from "../../../domain/Random.ts";
import { maskedInterval, weightedIndex } from "./NumpyLegacy.ts";
import { wordsOf } from "./words.ts";

export interface NumpyGenerator extends Draws {
  /** Draws integers(low, high): uniform in [low, high). */
  readonly range: (low: number, high: number) => number;
  /** Draws the index that `choice(n, p=weights)` gives. */
  readonly weighted: (weights: readonly number[]) => number;
  /** Draws choice(count, size, replace=False): `size` different integers below `count`. */
  readonly distinct: (count: number, size: number) => number[];
  /** Draws permutation(count): 0 … count - 1 in random order. */
  readonly permutation: (count: number) => number[];
}

/** Hashes words one after the other, each with the next constant of a geometric sequence. */
const hasher = (constant: number, multiplier: number) => {
  let current = constant;
  return (word: number): number => {
    let value = word ^ current;
    current = Math.imul(current, multiplier);
    value = Math.imul(value, current);
    return (value ^ (value >>> 16)) >>> 0;
  };
};

const mix = (x: number, y: number): number => {
  const mixed = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

/** The first `count` words of the seed sequence of a non-negative safe integer. Its two words at most fit the pool of four. */
export const seedSequence = (seed: number, count: number): readonly number[] => {
  const entropy = wordsOf(seed);
  const absorb = hasher(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: 4 }, (_, i) => absorb(entropy[i] ?? 0));
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to]!, absorb(pool[from]!));
  }
  const emit = hasher(0x8b51f9dd, 0x58f38ded);
  return Array.from({ length: count }, (_, i) => emit(pool[i % 4]!));
};

const multiplier = 0x2360ed051fc65da44385df649fccf645n;

/** The 64-bit outputs of PCG64 under a seed. */
const pcg64 = (seed: number): (() => bigint) => {
  const words = seedSequence(seed, 8).map(BigInt);
  const long = (at: number): bigint => (words[at + 1]! << 32n) | words[at]!;
  const increment = BigInt.asUintN(128, (((long(4) << 64n) | long(6)) << 1n) | 1n);
  const next = (state: bigint): bigint => BigInt.asUintN(128, state * multiplier + increment);
  let state = next(increment + ((long(0) << 64n) | long(2)));
  return () => {
    state = next(state);
    const folded = BigInt.asUintN(64, (state >> 64n) ^ state);
    const turn = state >> 122n;
    return BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
  };
};

/** The integers 0 … count - 1. */
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Draws from the 64-bit outputs of a bit generator, by numpy's algorithms. */
class Generator implements NumpyGenerator {
  readonly #uint64: () => bigint;
  /** The high half of an output whose low half has been used; null if none is left over. */
  #spareHalf: number | null = null;

  constructor(uint64: () => bigint) {
    this.#uint64 = uint64;
  }

  /** Draws the low half of an output first, and its high half the next time. */
  readonly uint32 = (): number => {
    const spare = this.#spareHalf;
    this.#spareHalf = null;
    if (spare !== null) return spare;
    const output = this.#uint64();
    this.#spareHalf = Number(output >> 32n);
    return Number(output & 0xffffffffn);
  };

  readonly uniform = (): number => Number(this.#uint64() >> 11n) / 9007199254740992;

  readonly int = (bound: number): number => {
    checkBound(bound, Number.MAX_SAFE_INTEGER);
    if (bound === 1) return 0;
    return bound <= 4294967296 ? this.#lemire32(bound) : this.#lemire64(BigInt(bound));
  };

  readonly range = (low: number, high: number): number => low + this.int(high - low);

  readonly pick = <A>(items: readonly A[]): A => items[this.int(items.length)]!;

  readonly weighted = (weights: readonly number[]): number => weightedIndex(weights, this.uniform());

  readonly shuffle = <A>(items: readonly A[]): A[] =>
    shuffled(items, (bound) => maskedInterval(bound - 1, this.uint32));

  readonly permutation = (count: number): number[] => this.shuffle(upTo(count));

  readonly distinct = (count: number, size: number): number[] => {
    if (count > 10_000 && size > Math.floor(count / 50)) return this.#shuffledTail(count, size);
    const drawn = new Set<number>();
    for (let most = count - size; most < count; most++) {
      const draw = this.int(most + 1);
      drawn.add(drawn.has(draw) ? most : draw);
    }
    return shuffled([...drawn], this.int);
  };

  /** Shuffles only the last `size` of 0 … count - 1, and gives those. */
  #shuffledTail(count: number, size: number): number[] {
    const numbers = upTo(count);
    for (let i = count - 1; i >= Math.max(count - size, 1); i--) {
      const j = this.int(i + 1);
      [numbers[i], numbers[j]] = [numbers[j]!, numbers[i]!];
    }
    return numbers.slice(count - size);
  }

  /** The high part of (draw x bound). It draws again if the low part shows that values would not be equally likely. */
  #lemire32(bound: number): number {
    if (bound === 4294967296) return this.uint32();
    const wide = BigInt(bound);
    const threshold = (4294967296 - bound) % bound;
    for (;;) {
      const product = BigInt(this.uint32()) * wide;
      if (Number(product & 0xffffffffn) >= threshold) return Number(product >> 32n);
    }
  }

  #lemire64(bound: bigint): number {
    const threshold = ((1n << 64n) - bound) % bound;
    for (;;) {
      const product = this.#uint64() * bound;
      if (BigInt.asUintN(64, product) >= threshold) return Number(product >> 64n);
    }
  }
}

/** Makes a generator that is seeded by a non-negative safe integer. */
export const numpyGenerator = (seed: number): NumpyGenerator => new Generator(pcg64(seed));
