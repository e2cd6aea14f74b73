/**
 * The goal of a seed, as RAGEN chooses it. Python's generator under seed 42 shuffles all goals; 500 are for testing, the next 1000 for
 * validation, and the rest for training.
 */
import { pythonRandom } from "../random/PythonRandom.ts";

const testGoals = 500;
const valGoals = 1_000;
/** The number of goals that are never trained on. */
export const heldOut = testGoals + valGoals;

const shuffleSeed = 42;

/** The shuffled goals, by the number of goals. They are constants, so the cache changes no result. */
const permutations = new Map<number, readonly number[]>();

const permutation = (goals: number): readonly number[] => {
  const cached = permutations.get(goals);
  if (cached !== undefined) return cached;
  const shuffled = pythonRandom(shuffleSeed).shuffle(Array.from({ length: goals }, (_, index) => index));
  permutations.set(goals, shuffled);
  return shuffled;
};

const goalIndex = (goals: number, mode: "train" | "val" | "test", seed: number): number => {
  switch (mode) {
    case "test":
      return seed % testGoals;
    case "val":
      return testGoals + (seed % valGoals);
    case "train":
      return heldOut + (seed % (goals - heldOut));
  }
};

/** The goal of a seed. `goals` is greater than `heldOut`. */
export const goalOf = (goals: number, mode: "train" | "val" | "test", seed: number): number =>
  permutation(goals)[goalIndex(goals, mode, seed)]!;
