/**
 * The goal of a seed, as RAGEN chooses it: 500 goals for testing, 1000 for validation, the rest for training, all of them
 * shuffled once by Python's generator under seed 42.
 */
import { pythonRandom } from "../random/PythonRandom.ts";

const testGoals = 500;
const valGoals = 1_000;
/** Goals that are never trained on. */
export const heldOut = testGoals + valGoals;

const shuffleSeed = 42;

/** The shuffled goals by their number; the same whenever they are made. */
const permutations = new Map<number, readonly number[]>();

const permutation = (goals: number): readonly number[] => {
  const known = permutations.get(goals);
  if (known !== undefined) return known;
  const made = pythonRandom(shuffleSeed).shuffle(Array.from({ length: goals }, (_, index) => index));
  permutations.set(goals, made);
  return made;
};

const place = (goals: number, mode: "train" | "val" | "test", seed: number): number => {
  switch (mode) {
    case "test":
      return seed % testGoals;
    case "val":
      return testGoals + (seed % valGoals);
    case "train":
      return heldOut + (seed % (goals - heldOut));
  }
};

/** `goals` is more than are held out. */
export const goalOf = (goals: number, mode: "train" | "val" | "test", seed: number): number =>
  permutation(goals)[place(goals, mode, seed)]!;
