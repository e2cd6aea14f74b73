/**
 * Distances to the solved cube and shortest solutions, by numbering the cubes. A rotation brings the corner of D, B and L home. The other
 * seven corners then have 7! orders and 3^6 twists, 3 674 160 cubes in all. U, R and F alone connect them: any other turn is one of these plus
 * a turn of the whole cube. Invariant: no cube is farther than 14 quarter turns.
 */
import {
  apply,
  cornerPlaces,
  type Face,
  faces,
  type Permutation,
  rotations,
  solved,
  type Turn,
  trueTurns,
} from "./Cube.ts";

const places = 5040;
const twists = 729;
const fixed = cornerPlaces[7]!;
const free = cornerPlaces.slice(0, 7);

/** The turns that leave the fixed corner at home; a turn and its inverse are neighbours. */
const generators = ["U", "U'", "R", "R'", "F", "F'"] as const satisfies readonly Turn[];

/** The piece and the twist of a corner by the three letters that it shows. */
const pieces: ReadonlyMap<string, { readonly piece: number; readonly twist: number }> = new Map(
  free.flatMap((home, piece) =>
    [0, 1, 2].map((twist) => {
      const letters = [0, 1, 2].map((at) => solved[home[(at + twist) % 3]!]).join("");
      return [letters, { piece, twist }] as const;
    }),
  ),
);

interface Arrangement {
  /** The piece at each place. */
  readonly pieces: readonly number[];
  readonly twists: readonly number[];
}

/** The arrangement of a cube's corners; null for stickers that no turns of a solved cube give. */
const arrangementOf = (cube: string): Arrangement | null => {
  const corners = free.flatMap((place) => pieces.get(place.map((at) => cube[at]).join("")) ?? []);
  const twisted = corners.reduce((sum, { twist }) => sum + twist, 0);
  if (new Set(corners.map(({ piece }) => piece)).size < 7 || twisted % 3 !== 0) return null;
  return { pieces: corners.map(({ piece }) => piece), twists: corners.map(({ twist }) => twist) };
};

/** The lexicographic rank of a permutation of seven. */
const placeRank = (order: readonly number[]): number => {
  let rank = 0;
  for (let at = 0; at < 7; at++) {
    let smaller = 0;
    for (let later = at + 1; later < 7; later++) if (order[later]! < order[at]!) smaller++;
    rank = rank * (7 - at) + smaller;
  }
  return rank;
};

const placeOrder = (rank: number): readonly number[] => {
  const digits: number[] = [];
  for (let base = 1; base <= 7; base++) {
    digits.unshift(rank % base);
    rank = Math.floor(rank / base);
  }
  const left = [0, 1, 2, 3, 4, 5, 6];
  return digits.map((digit) => left.splice(digit, 1)[0]!);
};

/** The rank of the first six twists; the seventh makes their sum a multiple of three. */
const twistRank = (twisted: readonly number[]): number =>
  twisted.slice(0, 6).reduce((rank, twist) => 3 * rank + twist, 0);

const twistOrder = (rank: number): readonly number[] => {
  const order: number[] = [];
  for (let at = 0; at < 6; at++) {
    order.unshift(rank % 3);
    rank = Math.floor(rank / 3);
  }
  return [...order, (21 - order.reduce((sum, twist) => sum + twist, 0)) % 3];
};

interface Tables {
  /** The rank after a generator, by generator and rank. */
  readonly place: readonly Int16Array[];
  readonly twist: readonly Int16Array[];
  /** The quarter turns to solved by `place * twists + twist`; -1 if not computed yet. */
  readonly distance: Int8Array;
  /** All distances up to this one are computed. */
  depth: number;
}

const makeTables = (): Tables => {
  const effects = generators.map((turn) => arrangementOf(apply(solved, trueTurns[turn]))!);
  const place = effects.map(({ pieces: from }) =>
    Int16Array.from({ length: places }, (_, rank) => {
      const order = placeOrder(rank);
      return placeRank(from.map((at) => order[at]!));
    }),
  );
  const twist = effects.map(({ pieces: from, twists: added }) =>
    Int16Array.from({ length: twists }, (_, rank) => {
      const order = twistOrder(rank);
      return twistRank(from.map((at, to) => (order[at]! + added[to]!) % 3));
    }),
  );
  const distance = new Int8Array(places * twists).fill(-1);
  distance[0] = 0;
  return { place, twist, distance, depth: 0 };
};

/** Computes the distances that are one turn farther. */
const growDistances = (tables: Tables): void => {
  const { depth, distance, place, twist } = tables;
  for (let index = 0, p = 0; p < places; p++) {
    for (let t = 0; t < twists; t++, index++) {
      if (distance[index] !== depth) continue;
      for (let turn = 0; turn < generators.length; turn++) {
        const next = place[turn]![p]! * twists + twist[turn]![t]!;
        if (distance[next] === -1) distance[next] = depth + 1;
      }
    }
  }
  tables.depth = depth + 1;
};

/** The tables, filled as far as any cube has needed so far. Their values are constants, so filling them lazily changes no result. */
let sharedTables: Tables | undefined;

const distanceAt = (index: number): number => {
  sharedTables ??= makeTables();
  while (sharedTables.distance[index] === -1) growDistances(sharedTables);
  return sharedTables.distance[index]!;
};

/** The rotation that brings the fixed corner home; undefined if no corner has its letters. */
const homingRotation = (cube: string): Permutation | undefined =>
  rotations.find((rotation) => fixed.every((place) => cube[rotation[place]!] === solved[place]));

interface NormalisedCube {
  readonly rotation: Permutation;
  readonly index: number;
}

/** Rotates a cube so that its fixed corner is at home, and numbers it; null for stickers that are no cube. */
const normalise = (cube: string): NormalisedCube | null => {
  const rotation = homingRotation(cube);
  const arrangement = rotation && arrangementOf(apply(cube, rotation));
  if (rotation === undefined || !arrangement) return null;
  return { rotation, index: placeRank(arrangement.pieces) * twists + twistRank(arrangement.twists) };
};

/** The number of quarter turns to the nearest solved cube; null for stickers that are no cube. */
export const distance = (cube: string): number | null => {
  const normalised = normalise(cube);
  return normalised && distanceAt(normalised.index);
};

/** The fewest quarter turns that solve the cube; null for stickers that are no cube. */
export const shortestSolution = (cube: string): readonly Turn[] | null => {
  const normalised = normalise(cube);
  if (normalised === null) return null;
  const plan: Turn[] = [];
  let { index } = normalised;
  for (let left = distanceAt(index); left > 0; left--) {
    const { distance: distances, place, twist } = sharedTables!;
    const p = Math.floor(index / twists);
    const t = index % twists;
    for (const [at, turn] of generators.entries()) {
      const next = place[at]![p]! * twists + twist[at]![t]!;
      if (distances[next] !== left - 1) continue;
      // This is the face as the cube was held before the rotation.
      const face: Face = faces[Math.floor(normalised.rotation[4 * faces.indexOf(turn[0] as Face)]! / 4)]!;
      plan.push(turn.length === 1 ? face : `${face}'`);
      index = next;
      break;
    }
  }
  return plan;
};
