/**
 * Counter-based randomness: a stream is a pure function of (run seed, purpose, counters), so any draw can be made again without
 * replaying the ones before it. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 * Invariant: equal keys give equal draws on every machine and in every thread.
 */

/** The purposes of streams; each purpose is an independent family of streams. */
export const purposes = [
  "instance", // an environment's instance, shared by a group
  "noise", // an episode's own transition noise
  "sampling", // token sampling
  "initialisation", // model parameters
  "shuffle", // mini-batch order
  "cloning", // behaviour cloning data
  "play", // scripted and random players
  "trajectories", // which episodes are recorded
  "jitter", // waits between two tries of a call
  "summary", // token sampling of summaries of earlier turns
  "diagnostics", // which thoughts are scored against which prompts
  "level", // the level that a group plays
] as const;

/** The purpose of a stream of random draws. */
export type Purpose = (typeof purposes)[number];

/** A key of a stream: structured-cloneable, so that it can travel to a thread in place of its draws. */
export interface StreamKey {
  readonly seed: number;
  readonly purpose: Purpose;
  /** Non-negative counters, e.g. group, member, turn. */
  readonly counters: readonly number[];
}

/** The draws that any source of randomness gives. It holds a mutable cursor. */
export interface Draws {
  /** Uniform integer in [0, 2^32). */
  readonly uint32: () => number;
  /** Uniform in [0, 1) with 53 bits. */
  readonly uniform: () => number;
  /** Uniform integer in [0, bound), unbiased. Throws a RangeError where there is none. */
  readonly int: (bound: number) => number;
  /** Throws a RangeError for an empty list. */
  readonly pick: <A>(items: readonly A[]) => A;
  /** A shuffled copy (Fisher-Yates). */
  readonly shuffle: <A>(items: readonly A[]) => A[];
}

/** Draws of one stream; make a new one from the key to start again. */
export interface Random extends Draws {
  /** The key that determines the draws; an instance's stream carries the instance's seed here. */
  readonly key: StreamKey;
  /** Standard normal (Box-Muller). */
  readonly normal: () => number;
}

/** Throws where no integer in [0, bound) could be drawn, which drawing again would look for without an end. */
export const checkBound = (bound: number, most: number): void => {
  if (!Number.isInteger(bound) || bound < 1 || bound > most) {
    throw new RangeError(`a random integer below ${bound} cannot be drawn; a bound is an integer from 1 to ${most}`);
  }
};

/** A shuffled copy: Fisher-Yates from the last place down, `int` giving the place to swap with. */
export const shuffled = <A>(items: readonly A[], int: (bound: number) => number): A[] => {
  const copy = items.slice();
  for (let i = copy.length - 1; i > 0; i--) {
    const j = int(i + 1);
    const swapped = copy[i]!;
    copy[i] = copy[j]!;
    copy[j] = swapped;
  }
  return copy;
};

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

const mulHigh = (a: number, b: number): number => {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const low = aLow * bLow;
  const middle = aHigh * bLow + (low >>> 16);
  const middleLow = (middle & 0xffff) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(middleLow / 0x10000)) >>> 0;
};

/** One Philox4x32-10 block: writes four uint32 for counter (c0..c3) and key (k0, k1) into `out`. */
export const philox = (
  out: Uint32Array,
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  key0: number,
  key1: number,
): void => {
  let k0 = key0 >>> 0;
  let k1 = key1 >>> 0;
  for (let round = 0; round < 10; round++) {
    const high0 = mulHigh(M0, c0);
    const low0 = Math.imul(M0, c0) >>> 0;
    const high1 = mulHigh(M1, c2);
    const low1 = Math.imul(M1, c2) >>> 0;
    const n0 = (high1 ^ c1 ^ k0) >>> 0;
    const n2 = (high0 ^ c3 ^ k1) >>> 0;
    c0 = n0;
    c1 = low1;
    c2 = n2;
    c3 = low0;
    k0 = (k0 + W0) >>> 0;
    k1 = (k1 + W1) >>> 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
};

/** The stream of a key. Counters beyond the third are folded into the key by one Philox block each. */
export const stream = (key: StreamKey): Random => {
  const block = new Uint32Array(4);
  const [a = 0, b = 0, c = 0, ...rest] = key.counters;
  let k0 = key.seed >>> 0;
  let k1 = ((purposes.indexOf(key.purpose) + 1) ^ (Math.floor(key.seed / 2 ** 32) << 8)) >>> 0;
  for (const extra of rest) {
    philox(block, extra >>> 0, 0, 0, 0, k0, k1);
    k0 = block[0]!;
    k1 = block[1]!;
  }
  let counter = 0;
  let used = 4;
  const uint32 = (): number => {
    if (used === 4) {
      philox(block, counter >>> 0, a >>> 0, b >>> 0, c >>> 0, k0, k1);
      counter++;
      used = 0;
    }
    return block[used++]!;
  };
  const uniform = (): number => ((uint32() >>> 5) * 67108864 + (uint32() >>> 6)) / 9007199254740992;
  const int = (bound: number): number => {
    checkBound(bound, 2 ** 32);
    const limit = 4294967296 - (4294967296 % bound);
    for (;;) {
      const draw = uint32();
      if (draw < limit) return draw % bound;
    }
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const pick = <A>(items: readonly A[]): A => items[int(items.length)]!;
  const shuffle = <A>(items: readonly A[]): A[] => shuffled(items, int);
  return { key, uint32, uniform, int, normal, pick, shuffle };
};
