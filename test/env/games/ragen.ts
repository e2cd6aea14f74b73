/** Instances that RAGEN's own generators made (fixtures/ragen/generate.py). */
import { readFileSync } from "node:fs";

interface Instances<A> {
  /** The seed of the first instance; the others have the next ones. */
  readonly first: number;
  readonly instances: readonly A[];
}

interface Configured<A = string> extends Instances<A> {
  readonly env_config: Readonly<Record<string, unknown>>;
}

export interface Golden {
  readonly sokoban: readonly (Configured & { readonly reseeded: readonly number[] })[];
  readonly frozen_lake: readonly Configured[];
  /** Row-major tiles of the first board. */
  readonly game_2048: Instances<readonly number[]>;
  /** Row-major symbols of the puzzle and of the board it came from. */
  readonly sudoku: readonly Configured<readonly [puzzle: string, solution: string]>[];
  readonly bandit: readonly (Instances<readonly [string, string, number]> & { readonly split: "train" | "test" })[];
}

export const ragen: Golden = JSON.parse(
  readFileSync(new URL("../../fixtures/ragen/golden.json", import.meta.url), "utf8"),
);
