/**
 * The draws of Python's `random` module seeded by an integer, bit for bit, for instances that a Python program defines by a seed.
 * `uniform` is its random(), `int` its _randbelow, `pick` its choice, `shuffle` its shuffle on a copy.
 */
import { checkBound, type Draws, shuffled } from "../../../domain/Random.ts";
import * as MersenneTwister from "./MersenneTwister.ts";
import { bitLength, wordsOf } from "./words.ts";

export interface PythonRandom extends Draws {
  /** Draws getrandbits: a number of 0 to 53 bits. */
  readonly bits: (count: number) => number;
  /** Draws randint: uniform in [low, high], both included. */
  readonly between: (low: number, high: number) => number;
  /** Draws `count` different items in random order. */
  readonly sample: <A>(items: readonly A[], count: number) => A[];
}

/** Makes a generator that is seeded by a safe integer; its sign is ignored, as Python ignores it. */
export const pythonRandom = (seed: number): PythonRandom => {
  const twister = MersenneTwister.fromWords(wordsOf(Math.abs(seed)));
  const { uint32 } = twister;
  const bits = (count: number): number => {
    if (count === 0) return 0;
    if (count <= 32) return uint32() >>> (32 - count);
    const low = uint32();
    return (uint32() >>> (64 - count)) * 4294967296 + low;
  };
  const int = (bound: number): number => {
    checkBound(bound, Number.MAX_SAFE_INTEGER);
    const count = bitLength(bound);
    for (;;) {
      const draw = bits(count);
      if (draw < bound) return draw;
    }
  };
  const sample = <A>(items: readonly A[], count: number): A[] => {
    if (count > items.length) throw new RangeError(`${count} different items of ${items.length} cannot be drawn`);
    // A small list is drawn from a shrinking pool; for a large one an index is drawn again until it is new.
    const pooled = 21 + (count > 5 ? 4 ** Math.ceil(Math.log(count * 3) / Math.log(4)) : 0);
    if (items.length <= pooled) {
      const pool = items.slice();
      return Array.from({ length: count }, (_, i) => {
        const j = int(items.length - i);
        const drawn = pool[j]!;
        pool[j] = pool[items.length - i - 1]!;
        return drawn;
      });
    }
    const drawn = new Set<number>();
    while (drawn.size < count) drawn.add(int(items.length));
    return Array.from(drawn, (index) => items[index]!);
  };
  return {
    uint32,
    uniform: () => MersenneTwister.uniformOf(twister),
    int,
    bits,
    between: (low, high) => low + int(high - low + 1),
    pick: (items) => items[int(items.length)]!,
    sample,
    shuffle: (items) => shuffled(items, int),
  };
};
