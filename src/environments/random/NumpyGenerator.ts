/**
 * The draws of numpy's `default_rng(seed)`, bit for bit: for instances that a Python program defined by a seed. A seed sequence (O'Neill's
 * seed_seq design) seeds PCG64, the 128-bit linear congruential generator with XSL-RR output (O'Neill, "PCG", HMC-CS-2014-0905);
 * `int` is `integers(bound)` by Lemire's multiplication (ACM TOMACS 29, 2019), `shuffle` its shuffle on a copy.
 */
import { checkBound, type Draws, shuffled } from "../../domain/Random.ts";
import { maskedInterval, placeOf } from "./NumpyLegacy.ts";
import { wordsOf } from "./words.ts";

export interface NumpyGenerator extends Draws {
  /** integers(low, high): uniform in [low, high). */
  readonly range: (low: number, high: number) => number;
  /** The index that `choice(n, p=weights)` gives. */
  readonly weighted: (weights: readonly number[]) => number;
  /** choice(count, size, replace=False): `size` different integers below `count`. */
  readonly distinct: (count: number, size: number) => number[];
  /** permutation(count): 0 … count - 1 in random order. */
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

/** `count` words of the seed sequence of a non-negative safe integer (at most two words, so the pool of four holds it all). */
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

/** Seeded by a non-negative safe integer. */
export const numpyGenerator = (seed: number): NumpyGenerator => {
  const uint64 = pcg64(seed);
  let held: number | null = null;
  /** The low half of an output first, its high half next time. */
  const uint32 = (): number => {
    if (held !== null) {
      const word = held;
      held = null;
      return word;
    }
    const output = uint64();
    held = Number(output >> 32n);
    return Number(output & 0xffffffffn);
  };
  const uniform = (): number => Number(uint64() >> 11n) / 9007199254740992;

  /** High part of (draw x bound), drawn again where the low part shows that values would not be equally likely. */
  const lemire32 = (bound: number): number => {
    if (bound === 4294967296) return uint32();
    const wide = BigInt(bound);
    const threshold = (4294967296 - bound) % bound;
    for (;;) {
      const product = BigInt(uint32()) * wide;
      if (Number(product & 0xffffffffn) >= threshold) return Number(product >> 32n);
    }
  };
  const lemire64 = (bound: bigint): number => {
    const threshold = ((1n << 64n) - bound) % bound;
    for (;;) {
      const product = uint64() * bound;
      if (BigInt.asUintN(64, product) >= threshold) return Number(product >> 64n);
    }
  };
  const int = (bound: number): number => {
    checkBound(bound, Number.MAX_SAFE_INTEGER);
    if (bound === 1) return 0;
    return bound <= 4294967296 ? lemire32(bound) : lemire64(BigInt(bound));
  };

  const shuffle = <A>(items: readonly A[]): A[] => shuffled(items, (bound) => maskedInterval(bound - 1, uint32));
  const permutation = (count: number): number[] => shuffle(Array.from({ length: count }, (_, i) => i));

  const distinct = (count: number, size: number): number[] => {
    if (count > 10_000 && size > Math.floor(count / 50)) {
      // The tail of an array of which only the tail is shuffled.
      const all = Array.from({ length: count }, (_, i) => i);
      for (let i = count - 1; i >= Math.max(count - size, 1); i--) {
        const j = int(i + 1);
        [all[i], all[j]] = [all[j]!, all[i]!];
      }
      return all.slice(count - size);
    }
    const taken = new Set<number>();
    for (let most = count - size; most < count; most++) {
      const draw = int(most + 1);
      taken.add(taken.has(draw) ? most : draw);
    }
    return shuffled([...taken], int);
  };

  return {
    uint32,
    uniform,
    int,
    range: (low, high) => low + int(high - low),
    pick: (items) => items[int(items.length)]!,
    weighted: (weights) => placeOf(weights, uniform()),
    shuffle,
    permutation,
    distinct,
  };
};
