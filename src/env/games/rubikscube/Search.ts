/**
 * Finds a shortest solution under any table of turns, by breadth-first search over stickers up to a bound. It serves RAGEN's turns; for
 * those of a real cube `Corners` is faster.
 */
import { apply, isSolved, type Permutation, type Turn, turns } from "./Cube.ts";

interface Node {
  readonly cube: string;
  readonly from: Node | null;
  readonly turn: Turn | null;
}

const path = (end: Node): readonly Turn[] => {
  const plan: Turn[] = [];
  for (let node = end; node.from !== null && node.turn !== null; node = node.from) plan.push(node.turn);
  return plan.reverse();
};

export const searchSolution = (
  table: Readonly<Record<Turn, Permutation>>,
  cube: string,
  bound: number,
): readonly Turn[] | null => {
  const visited = new Set([cube]);
  let frontier: readonly Node[] = [{ cube, from: null, turn: null }];
  for (let depth = 0; depth <= bound; depth++) {
    const next: Node[] = [];
    for (const node of frontier) {
      if (isSolved(node.cube)) return path(node);
      if (depth === bound) continue;
      for (const turn of turns) {
        const turned = apply(node.cube, table[turn]);
        if (visited.has(turned)) continue;
        visited.add(turned);
        next.push({ cube: turned, from: node, turn });
      }
    }
    frontier = next;
  }
  return null;
};
