/**
 * Draws solvable rooms of Sokoban. A walk stamps floor into a walled board, player and targets are placed on
 * it, reverse play moves the boxes off their targets, and the player wanders a few cells. A room whose boxes no reverse play can
 * displace is drawn again: from the same stream, or under another seed for RAGEN's instances.
 */
import type { Draws } from "../../domain/Random.ts";
import { NoInstance } from "../../env/NoInstance.ts";
import { numpyLegacy } from "../random/NumpyLegacy.ts";
import { pythonRandom } from "../random/PythonRandom.ts";
import { pythonHash } from "../random/pythonHash.ts";
import { type Board, reversePlay } from "./ReversePlay.ts";
import { roomSize, type SokobanConfig } from "./SokobanConfig.ts";

export interface Room {
  /** Row-major cells: 0 wall, 1 floor, 2 target. */
  readonly layout: string;
  readonly player: number;
  /** Cells of the boxes, ascending. */
  readonly boxes: readonly number[];
  /** Sum of Manhattan distances of the boxes from the targets they were dragged off. */
  readonly displacement: number;
}

/** Rooms drawn before a configuration is given up. */
const mostDraws = 2_000;
/** Rooms RAGEN draws under one seed before it takes another. */
const drawsOfSeed = 4;
const turning = 0.35;

/** Floor stamps, as (row, column) offsets from the walker. */
const stamps: readonly (readonly (readonly [number, number])[])[] = [
  [
    [0, -1],
    [0, 0],
    [0, 1],
  ], // horizontal bar
  [
    [-1, 0],
    [0, 0],
    [1, 0],
  ], // vertical bar
  [
    [0, -1],
    [0, 0],
    [1, 0],
  ], // corner, left and down
  [
    [0, -1],
    [0, 0],
    [1, -1],
    [1, 0],
  ], // square, lower left
  [
    [0, 0],
    [0, 1],
    [1, 0],
  ], // corner, right and down
];

const headings: readonly (readonly [number, number])[] = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
];

const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(value, high));

/** Floor of a walled board, stamped along a random walk of floor(1.7 (rows + cols)) steps. */
const drawFloor = (rows: number, cols: number, random: Draws): Uint8Array => {
  const floor = new Uint8Array(rows * cols);
  let heading = random.pick(headings);
  let row = 1 + random.int(rows - 1);
  let col = 1 + random.int(cols - 1);
  for (let steps = Math.floor(1.7 * (rows + cols)); steps > 0; steps--) {
    if (random.uniform() < turning) heading = random.pick(headings);
    row = clamp(row + heading[0], 1, rows - 2);
    col = clamp(col + heading[1], 1, cols - 2);
    for (const [down, right] of random.pick(stamps)) {
      const r = row + down;
      const c = col + right;
      if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1) floor[r * cols + c] = 1;
    }
  }
  return floor;
};

/** Player and targets on distinct floor cells; null when fewer than two cells would stay free. */
const place = (rows: number, cols: number, count: number, floor: Uint8Array, random: Draws): Board | null => {
  const free: number[] = [];
  for (let cell = 0; cell < floor.length; cell++) if (floor[cell] === 1) free.push(cell);
  if (free.length <= count + 1) return null;
  const take = (): number => free.splice(random.int(free.length), 1)[0]!;
  const player = take();
  const targets = Array.from({ length: count }, take).sort((a, b) => a - b);
  return { rows, cols, floor, targets, player };
};

/** Up to three steps of the player to free cells it has not stood on. */
const wander = (
  { cols, floor }: Board,
  boxes: readonly number[],
  start: number,
  displacement: number,
  random: Draws,
): number => {
  if (random.uniform() > (displacement === 1 ? 0.8 : 0.5)) return start;
  const stood = [start];
  let player = start;
  for (let steps = 1; ; steps++) {
    const open = [player - cols, player + cols, player - 1, player + 1].filter(
      (cell) => floor[cell] === 1 && !boxes.includes(cell) && !stood.includes(cell),
    );
    if (open.length === 0) return player;
    player = random.pick(open);
    stood.push(player);
    if (steps === 3 || random.uniform() > 0.5) return player;
  }
};

/** Where a room's draws come from; one stream may be both. */
interface Sources {
  /** The walk, the stamps and the wandering. */
  readonly walk: Draws;
  /** Where player and targets stand. */
  readonly placement: Draws;
}

/** Why a draw gave no room: too little floor, or no box that could be moved off its target. */
type Unfit = "cramped" | "undisplaced";

const drawOnce = (config: SokobanConfig, { placement, walk }: Sources): Room | Unfit => {
  const [rows, cols] = roomSize(config);
  const board = place(rows, cols, config.num_boxes, drawFloor(rows, cols, walk), placement);
  if (board === null) return "cramped";
  const { boxes, displacement, player } = reversePlay(board, config.search_depth);
  if (displacement === 0) return "undisplaced";
  let layout = "";
  for (let cell = 0; cell < board.floor.length; cell++) {
    layout += board.floor[cell] === 0 ? "0" : board.targets.includes(cell) ? "2" : "1";
  }
  return {
    layout,
    player: wander(board, boxes, player, displacement, walk),
    boxes: boxes.slice().sort((a, b) => a - b),
    displacement,
  };
};

/** A solvable room with at least one box off its target. Throws NoInstance when the configuration gives one too rarely. */
export const drawRoom = (config: SokobanConfig, random: Draws): Room => {
  for (let draw = 0; draw < mostDraws; draw++) {
    const drawn = drawOnce(config, { walk: random, placement: random });
    if (typeof drawn !== "string") return drawn;
  }
  throw new NoInstance({ env_type: "sokoban", draws: mostDraws });
};

/**
 * The room RAGEN makes under a seed (its NumPy takes seeds below 2^32). Where it finds none it continues with the hash of the seed's digits,
 * which Python salts in every process; here the hash is unsalted (PYTHONHASHSEED=0).
 */
export const ragenRoom = (config: SokobanConfig, firstSeed: number): Room => {
  let seed = firstSeed;
  for (let draw = 0; draw < mostDraws; ) {
    const sources = { walk: pythonRandom(seed), placement: numpyLegacy(seed) };
    let drawn: Room | Unfit = "undisplaced";
    for (let again = 0; again < drawsOfSeed && drawn === "undisplaced"; again++, draw++) {
      drawn = drawOnce(config, sources);
    }
    if (typeof drawn !== "string") return drawn;
    const hash = pythonHash(String(seed));
    seed = Number((hash < 0n ? -hash : hash) % 4294967296n);
  }
  throw new NoInstance({ env_type: "sokoban", draws: mostDraws });
};
