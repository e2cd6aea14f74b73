/**
 * Draws maps of FrozenLake: row-major strings of S(tart), G(oal), F(rozen) and H(ole). Start and goal are uniform
 * over the board; every map has a path from start to goal that avoids the holes.
 */
import type { Draws } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { numpyGenerator } from "../random/NumpyGenerator.ts";
import type { FrozenLakeConfig } from "./FrozenLakeConfig.ts";

export const directions: readonly string[] = ["Left", "Down", "Right", "Up"];

const maxDraws = 100_000;

/** The cell one step in a direction (an index of `directions`); the same cell at the board's edge. */
export const neighbour = (size: number, cell: number, direction: number): number => {
  const column = cell % size;
  switch (direction) {
    case 0:
      return column > 0 ? cell - 1 : cell;
    case 1:
      return cell + size < size * size ? cell + size : cell;
    case 2:
      return column < size - 1 ? cell + 1 : cell;
    default:
      return cell >= size ? cell - size : cell;
  }
};

/** The directions of a shortest walk to the goal that avoids the holes, by breadth-first search; null when there is none. */
export const shortestWalk = (size: number, layout: string, from: number): readonly number[] | null => {
  const previousCell = new Int32Array(size * size).fill(-1);
  const arrivalDirection = new Uint8Array(size * size);
  const queue = [from];
  previousCell[from] = from;
  for (let head = 0; head < queue.length; head++) {
    const cell = queue[head]!;
    if (layout[cell] === "G") {
      const walk: number[] = [];
      for (let back = cell; back !== from; back = previousCell[back]!) walk.push(arrivalDirection[back]!);
      return walk.reverse();
    }
    for (let direction = 0; direction < 4; direction++) {
      const next = neighbour(size, cell, direction);
      if (previousCell[next] !== -1 || layout[next] === "H") continue;
      previousCell[next] = cell;
      arrivalDirection[next] = direction;
      queue.push(next);
    }
  }
  return null;
};

interface Lake {
  readonly cells: string[];
  readonly start: number;
  readonly goal: number;
}

const drawLake = ({ size, p }: FrozenLakeConfig, random: Draws): Lake => {
  const cells = Array.from({ length: size * size }, () => (random.uniform() < p ? "F" : "H"));
  return { cells, start: random.int(size * size), goal: random.int(size * size) };
};

/** Draws a lake as RAGEN does: start and goal take four draws, and probabilities are normalised as in numpy's `choice`. */
const drawRagenLake = ({ size, p }: FrozenLakeConfig, random: Draws): Lake => {
  const frozen = p / (p + (1 - p));
  const cells = Array.from({ length: size * size }, () => (random.uniform() < frozen ? "F" : "H"));
  const cell = (): number => random.int(size) * size + random.int(size);
  return { cells, start: cell(), goal: cell() };
};

/** Draws a map until one is playable. It throws NoInstance when the configuration gives one too rarely. */
const drawPlayable = (size: number, drawLakeOnce: () => Lake): string => {
  for (let draw = 0; draw < maxDraws; draw++) {
    const { cells, start, goal } = drawLakeOnce();
    if (start === goal) continue;
    cells[start] = "S";
    cells[goal] = "G";
    const layout = cells.join("");
    if (shortestWalk(size, layout, start) !== null) return layout;
  }
  throw new NoInstance({ env_type: "frozen_lake", draws: maxDraws });
};

export const drawMap = (config: FrozenLakeConfig, random: Draws): string =>
  drawPlayable(config.size, () => drawLake(config, random));

/** The map RAGEN makes under a seed. */
export const ragenMap = (config: FrozenLakeConfig, seed: number): string => {
  const random = numpyGenerator(seed);
  return drawPlayable(config.size, () => drawRagenLake(config, random));
};
