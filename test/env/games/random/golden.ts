/** Draws that Python and numpy made (fixtures/random/generate.py). */
import { readFileSync } from "node:fs";

type Bounded = readonly (readonly [bound: number, draw: number])[];

interface Common {
  readonly seed: number;
  readonly words: readonly number[];
  readonly uniform: readonly number[];
  readonly int: Bounded;
  readonly pick: readonly string[];
  readonly shuffle: readonly number[];
  readonly late: readonly number[];
}

interface Numpy extends Common {
  readonly range: readonly number[];
  readonly weighted: readonly number[];
  readonly permutation: readonly number[];
}

export interface Golden {
  readonly weights: readonly number[];
  readonly python: readonly (Common & {
    readonly bits: readonly (readonly [count: number, draw: number])[];
    readonly between: readonly number[];
    readonly samples: readonly (readonly [size: number, count: number, drawn: readonly number[]])[];
  })[];
  readonly legacy: readonly Numpy[];
  readonly generator: readonly (Numpy & {
    readonly sequence: readonly number[];
    readonly odd: readonly number[];
    readonly distinct: readonly (readonly [count: number, size: number, drawn: readonly number[]])[];
    readonly tail: readonly [count: number, size: number, last: readonly number[]];
  })[];
  readonly hashes: readonly (readonly [text: string, hash: string])[];
}

export const golden: Golden = JSON.parse(
  readFileSync(new URL("../../../fixtures/random/golden.json", import.meta.url), "utf8"),
);

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** `count` results of `draw`. */
export const times = <A>(count: number, draw: () => A): A[] => Array.from({ length: count }, draw);
