/**
 * MT19937 (Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8, 1998), which gives 32-bit words. It has two seedings: a 32-bit seed for numpy's
 * legacy generator, and an array of words for Python's.
 */

const size = 624;
const offset = 397;

export interface MersenneTwister {
  /** The next 32-bit word. */
  readonly uint32: () => number;
}

/** Fills a state from one word. */
const fill = (seed: number): Uint32Array => {
  const state = new Uint32Array(size);
  state[0] = seed;
  for (let i = 1; i < size; i++) {
    const last = state[i - 1]!;
    state[i] = Math.imul(1812433253, last ^ (last >>> 30)) + i;
  }
  return state;
};

const fillByArray = (words: readonly number[]): Uint32Array => {
  const state = fill(19650218);
  let i = 1;
  let j = 0;
  const previous = (): number => {
    const last = state[i - 1]!;
    return last ^ (last >>> 30);
  };
  const advance = (): void => {
    if (++i < size) return;
    state[0] = state[size - 1]!;
    i = 1;
  };
  for (let k = Math.max(size, words.length); k > 0; k--) {
    state[i] = (state[i]! ^ Math.imul(previous(), 1664525)) + words[j]! + j;
    advance();
    j = (j + 1) % words.length;
  }
  for (let k = size - 1; k > 0; k--) {
    state[i] = (state[i]! ^ Math.imul(previous(), 1566083941)) - i;
    advance();
  }
  state[0] = 0x80000000;
  return state;
};

const generatorOf = (state: Uint32Array): MersenneTwister => {
  let at = size;
  const twist = (): void => {
    for (let i = 0; i < size; i++) {
      const joined = (state[i]! & 0x80000000) | (state[(i + 1) % size]! & 0x7fffffff);
      state[i] = state[(i + offset) % size]! ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
    }
    at = 0;
  };
  return {
    uint32: () => {
      if (at === size) twist();
      let word = state[at++]!;
      word ^= word >>> 11;
      word ^= (word << 7) & 0x9d2c5680;
      word ^= (word << 15) & 0xefc60000;
      return (word ^ (word >>> 18)) >>> 0;
    },
  };
};

/** Makes a generator that is seeded by one 32-bit word. */
export const fromWord = (seed: number): MersenneTwister => generatorOf(fill(seed));

/** Makes a generator that is seeded by an array of at least one 32-bit word. */
export const fromWords = (words: readonly number[]): MersenneTwister => generatorOf(fillByArray(words));

/** Draws a number in [0, 1) with 53 bits from two words. */
export const uniformOf = ({ uint32 }: MersenneTwister): number =>
  ((uint32() >>> 5) * 67108864 + (uint32() >>> 6)) / 9007199254740992;
