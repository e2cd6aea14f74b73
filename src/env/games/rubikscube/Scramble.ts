/**
 * Scrambles a cube. Ours are exactly `scramble_depth` turns from solved, because every turn goes one farther; RAGEN's turns are
 * independent and may undo each other, even all of them.
 */
import type { Random } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { numpyGenerator } from "../random/NumpyGenerator.ts";
import { distance } from "./Corners.ts";
import { apply, solved, trueTurns, turns, turnTables } from "./Cube.ts";
import type { RubiksCubeConfig } from "./RubiksCubeConfig.ts";

/** Walks end early on cubes from which every turn leads back: none up to 8 turns, nearly all on the way to 14. */
const maxWalks = 10_000;

const walk = (depth: number, random: Random): string | null => {
  let cube = solved;
  for (let turn = 1; turn <= depth; turn++) {
    const farther = turns.map((name) => apply(cube, trueTurns[name])).filter((next) => distance(next) === turn);
    if (farther.length === 0) return null;
    cube = random.pick(farther);
  }
  return cube;
};

/** Scrambles a cube. It throws NoInstance if every walk ends early. */
export const scramble = ({ scramble_depth }: RubiksCubeConfig, random: Random): string => {
  for (let tries = 0; tries < maxWalks; tries++) {
    const cube = walk(scramble_depth, random);
    if (cube !== null) return cube;
  }
  throw new NoInstance({ env_type: "rubikscube", draws: maxWalks });
};

/** The scramble RAGEN makes under a seed. */
export const ragenScramble = ({ back_turn, scramble_depth }: RubiksCubeConfig, seed: number): string => {
  const random = numpyGenerator(seed);
  let cube = solved;
  for (let turn = 0; turn < scramble_depth; turn++) cube = apply(cube, turnTables[back_turn][random.pick(turns)]);
  return cube;
};
