/**
 * The 2x2 cube as 24 stickers: a string of colour letters, and the turns of its faces. Every turn is a permutation of sticker places. It is computed
 * from the stickers' positions in space, so that the laws of the group hold by construction. The places are ordered by faces U L F R B D. On
 * each face they go row by row as one looks straight at it (U with B at the top, D with F at the top).
 */

type Vector = readonly [x: number, y: number, z: number];

/** Element i is the place from which the sticker now at place i came. */
export type Permutation = readonly number[];

export const faces = ["U", "L", "F", "R", "B", "D"] as const;
export type Face = (typeof faces)[number];

/** A letter alone is a quarter turn clockwise, looking at the face; a prime makes it counter-clockwise. The order is RAGEN's. */
export const turns = ["U", "U'", "D", "D'", "L", "L'", "R", "R'", "F", "F'", "B", "B'"] as const;
export type Turn = (typeof turns)[number];

export const solved = "WWWWOOOOGGGGRRRRBBBBYYYY";

/** The direction of each face, and those of its rows and columns; x is right, y up, z to the front. */
const frames: Readonly<Record<Face, { readonly out: Vector; readonly right: Vector; readonly down: Vector }>> = {
  U: { out: [0, 1, 0], right: [1, 0, 0], down: [0, 0, 1] },
  L: { out: [-1, 0, 0], right: [0, 0, 1], down: [0, -1, 0] },
  F: { out: [0, 0, 1], right: [1, 0, 0], down: [0, -1, 0] },
  R: { out: [1, 0, 0], right: [0, 0, -1], down: [0, -1, 0] },
  B: { out: [0, 0, -1], right: [-1, 0, 0], down: [0, -1, 0] },
  D: { out: [0, -1, 0], right: [1, 0, 0], down: [0, 0, -1] },
};

interface Sticker {
  /** The corner piece of the sticker: each coordinate is 1 or -1. */
  readonly corner: Vector;
  /** The direction that the sticker faces. */
  readonly out: Vector;
}

const vector = (coordinate: (axis: 0 | 1 | 2) => number): Vector => [coordinate(0), coordinate(1), coordinate(2)];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

const stickers: readonly Sticker[] = faces.flatMap((face) => {
  const { out, right, down } = frames[face];
  return [-1, 1].flatMap((row) =>
    [-1, 1].map((column) => ({ corner: vector((axis) => out[axis] + row * down[axis] + column * right[axis]), out })),
  );
});

const placeOf = ({ corner, out }: Sticker): number =>
  stickers.findIndex((other) => dot(other.corner, corner) === 3 && dot(other.out, out) === 1);

/** A quarter turn about `axis`, clockwise as seen from its tip. */
const clockwise = (axis: Vector, v: Vector): Vector => {
  const across = cross(v, axis);
  const along = dot(axis, v);
  return vector((at) => across[at] + along * axis[at]);
};

/** The quarter turn about `axis` of the stickers whose corner satisfies `moving`. */
const quarterTurn = (axis: Vector, moving: (corner: Vector) => boolean): Permutation => {
  const places = stickers.map((_, place) => place);
  for (const [from, { corner, out }] of stickers.entries()) {
    if (moving(corner)) places[placeOf({ corner: clockwise(axis, corner), out: clockwise(axis, out) })] = from;
  }
  return places;
};

/** The permutation of `first`, then `second`. */
export const compose = (first: Permutation, second: Permutation): Permutation => second.map((place) => first[place]!);

export const inverse = (permutation: Permutation): Permutation => {
  const places = permutation.slice();
  for (const [to, from] of permutation.entries()) places[from] = to;
  return places;
};

const withInverses = (quarter: Readonly<Record<Face, Permutation>>): Readonly<Record<Turn, Permutation>> => ({
  U: quarter.U,
  "U'": inverse(quarter.U),
  D: quarter.D,
  "D'": inverse(quarter.D),
  L: quarter.L,
  "L'": inverse(quarter.L),
  R: quarter.R,
  "R'": inverse(quarter.R),
  F: quarter.F,
  "F'": inverse(quarter.F),
  B: quarter.B,
  "B'": inverse(quarter.B),
});

const turnOf = (face: Face): Permutation =>
  quarterTurn(frames[face].out, (corner) => dot(corner, frames[face].out) > 0);

export const trueTurns = withInverses({
  U: turnOf("U"),
  L: turnOf("L"),
  F: turnOf("F"),
  R: turnOf("R"),
  B: turnOf("B"),
  D: turnOf("D"),
});

/** RAGEN's turn of the back face swaps the two stickers that it moves across the back edge of D, both when they arrive and when they leave. */
const swapped: Permutation = solved.split("").map((_, place) => (place === 22 ? 23 : place === 23 ? 22 : place));
const ragenBack = compose(compose(swapped, trueTurns.B), swapped);

/**
 * The permutations of the turns. `true` is the real cube; `ragen` differs in B and B', which tear corner pieces apart: each still undoes the
 * other, but mixed with other turns they leave the cube's group.
 */
export const turnTables = {
  true: trueTurns,
  ragen: { ...trueTurns, B: ragenBack, "B'": inverse(ragenBack) },
} as const satisfies Record<string, Readonly<Record<Turn, Permutation>>>;
export type TurnTable = keyof typeof turnTables;

export const apply = (cube: string, permutation: Permutation): string => {
  let turned = "";
  for (const place of permutation) turned += cube[place];
  return turned;
};

/** The letters of a face, row by row. */
export const faceOf = (cube: string, face: Face): string =>
  cube.slice(4 * faces.indexOf(face), 4 * faces.indexOf(face) + 4);

/** True if every face shows one colour, whichever way the cube is held. */
export const isSolved = (cube: string): boolean => {
  for (let first = 0; first < 24; first += 4) {
    const colour = cube[first];
    if (cube[first + 1] !== colour || cube[first + 2] !== colour || cube[first + 3] !== colour) return false;
  }
  return true;
};

/** The 24 ways to hold the cube, each as a turn of the whole cube; the first leaves it as it is. */
export const rotations: readonly Permutation[] = (() => {
  const about = (face: Face): Permutation => quarterTurn(frames[face].out, () => true);
  const permutations: Permutation[] = [solved.split("").map((_, place) => place)];
  for (let head = 0; head < permutations.length; head++) {
    for (const quarter of [about("U"), about("R")]) {
      const next = compose(permutations[head]!, quarter);
      if (!permutations.some((other) => other.every((place, at) => place === next[at]))) permutations.push(next);
    }
  }
  return permutations;
})();

/**
 * The places of each corner piece's three stickers, the one on U or D first, then clockwise as one looks at the corner. The last is
 * the corner of D, B and L.
 */
export const cornerPlaces: readonly (readonly [number, number, number])[] = (() => {
  const corners: (readonly [number, number, number])[] = [];
  for (const [place, { corner, out }] of stickers.entries()) {
    if (out[1] === 0) continue;
    const [second, third] = stickers.flatMap((other, at) =>
      at !== place && dot(other.corner, corner) === 3 ? [{ at, out: other.out }] : [],
    );
    const clockwiseOrder = dot(out, cross(second!.out, third!.out)) < 0;
    corners.push(clockwiseOrder ? [place, second!.at, third!.at] : [place, third!.at, second!.at]);
  }
  // In the order of places, D's back-left sticker comes before its back-right one.
  const last = corners.findIndex(([place]) => place === 22);
  return [...corners.slice(0, last), ...corners.slice(last + 1), corners[last]!];
})();
