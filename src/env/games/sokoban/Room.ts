/**
 * Draws solvable rooms of Sokoban. A walk stamps floor into a walled board, player and targets are placed on it, reverse play moves the boxes off
 * their targets, and the player wanders a few cells. A room whose boxes no reverse play can displace is drawn again, from the same stream,
 * or under another seed for RAGEN's instances.
 */
import type { Draws } from "../../../domain/Random.ts";
import { NoInstance } from "../../contract/NoInstance.ts";
import { numpyLegacy } from "../random/NumpyLegacy.ts";
import { pythonRandom } from "../random/PythonRandom.ts";
import { pythonHash } from "../random/pythonHash.ts";
import { type Board, reversePlay } from "./ReversePlay.ts";
import { roomSize, type SokobanConfig } from "./SokobanConfig.ts";
import { shortestSolution } from "./Solver.ts";

export interface DrawnRoom {
  /** The row-major cells: 0 wall, 1 floor, 2 target. */
  readonly layout: string;
  /** The player's cell. */
  readonly player: number;
  /** The cells of the boxes, ascending. */
  readonly boxes: readonly number[];
  /** The sum of Manhattan distances of the boxes from the targets that they were dragged off. */
  readonly displacement: number;
  /** The number of moves of the reverse play that made the room. */
  readonly moves: number;
}

/** The most rooms that are drawn before a configuration is given up. */
const mostDraws = 2_000;
/** RAGEN draws so many rooms under one seed before it takes another. */
const drawsOfSeed = 4;
/** Stamps and probabilities are RAGEN's, so that its rooms come out bit for bit. */
const turnProbability = 0.35;

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

/** Draws the floor of a walled board, stamped along a random walk of floor(1.7 (rows + cols)) steps. */
const drawFloor = (rows: number, cols: number, random: Draws): Uint8Array => {
  const floor = new Uint8Array(rows * cols);
  let heading = random.pick(headings);
  let row = 1 + random.int(rows - 1);
  let col = 1 + random.int(cols - 1);
  for (let steps = Math.floor(1.7 * (rows + cols)); steps > 0; steps--) {
    if (random.uniform() < turnProbability) heading = random.pick(headings);
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

/** Places the player and the targets on distinct floor cells; null if fewer than two cells would stay free. */
const place = (rows: number, cols: number, count: number, floor: Uint8Array, random: Draws): Board | null => {
  const free: number[] = [];
  for (let cell = 0; cell < floor.length; cell++) if (floor[cell] === 1) free.push(cell);
  if (free.length <= count + 1) return null;
  const take = (): number => free.splice(random.int(free.length), 1)[0]!;
  const player = take();
  const targets = Array.from({ length: count }, take).sort((a, b) => a - b);
  return { rows, cols, floor, targets, player };
};

/** Moves the player up to three steps to free cells on which it has not stood. */
const wander = (
  { cols, floor }: Board,
  boxes: readonly number[],
  start: number,
  displacement: number,
  random: Draws,
): number => {
  const wanderProbability = displacement === 1 ? 0.8 : 0.5;
  if (random.uniform() > wanderProbability) return start;
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

/** The random streams of a room's draws. They may be one and the same stream. */
interface DrawSources {
  /** Draws the walk, the stamps and the wandering. */
  readonly walk: Draws;
  /** Draws the cells of the player and the targets. */
  readonly placement: Draws;
}

/** The reason why a draw gave no room: too little floor, or no box that could be moved off its target. */
type RejectedDraw = "cramped" | "undisplaced";

const drawOnce = (config: SokobanConfig, { placement, walk }: DrawSources): DrawnRoom | RejectedDraw => {
  const [rows, cols] = roomSize(config);
  const board = place(rows, cols, config.num_boxes, drawFloor(rows, cols, walk), placement);
  if (board === null) return "cramped";
  const { boxes, displacement, moves, player } = reversePlay(board, config.search_depth);
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
    moves,
  };
};

type Range = NonNullable<SokobanConfig["min_solution_steps"]>;

const isWithin = ([fewest, most]: Range, steps: number): boolean => steps >= fewest && steps <= most;

/** True if a room's shortest solution has as many moves as the configuration requires. */
const hasRequiredLength = (config: SokobanConfig, room: DrawnRoom): boolean => {
  if (config.min_solution_steps === null) return true;
  const solution = shortestSolution({ cols: roomSize(config)[1], ...room });
  return solution !== null && isWithin(config.min_solution_steps, solution.length);
};

/** Draws a solvable room with at least one box off its target. It throws NoInstance if the configuration gives one too rarely. */
export const drawRoom = (config: SokobanConfig, random: Draws): DrawnRoom => {
  const draws = config.min_solution_steps === null ? mostDraws : config.max_reset_tries;
  for (let draw = 0; draw < draws; draw++) {
    const drawn = drawOnce(config, { walk: random, placement: random });
    if (typeof drawn !== "string" && hasRequiredLength(config, drawn)) return drawn;
  }
  throw new NoInstance({ env_type: "sokoban", draws });
};

/** The room that RAGEN draws under exactly this seed (its NumPy takes seeds below 2^32), null if it finds none, and the number of draws. */
const ragenRoomOfSeed = (
  config: SokobanConfig,
  seed: number,
): { readonly room: DrawnRoom | null; readonly draws: number } => {
  const sources = { walk: pythonRandom(seed), placement: numpyLegacy(seed) };
  for (let draws = 1; ; draws++) {
    const drawn = drawOnce(config, sources);
    if (typeof drawn !== "string") return { room: drawn, draws };
    if (drawn === "cramped" || draws === drawsOfSeed) return { room: null, draws };
  }
};

/** The seed that RAGEN takes next: the hash of the seed's digits. Python salts hashes in every process; here they are unsalted (PYTHONHASHSEED=0). */
const nextSeed = (seed: number): number => {
  const hash = pythonHash(String(seed));
  return Number((hash < 0n ? -hash : hash) % 4294967296n);
};

/**
 * The room that RAGEN makes under a seed, or under the next seed that gives a room. With `min_solution_steps` up to `max_reset_tries` seeds are
 * tried for one whose reverse play has as many moves (RAGEN does not solve rooms); then any room is taken. Throws NoInstance if no seed gives one.
 */
export const ragenRoom = (config: SokobanConfig, firstSeed: number): DrawnRoom => {
  const { max_reset_tries, min_solution_steps: range } = config;
  let seed = firstSeed;
  if (range !== null) {
    for (let tries = 0; tries < max_reset_tries; tries++, seed = nextSeed(seed)) {
      const { room } = ragenRoomOfSeed(config, seed);
      if (room !== null && isWithin(range, room.moves)) return room;
    }
  }
  for (let drawn = 0; drawn < mostDraws; seed = nextSeed(seed)) {
    const { draws, room } = ragenRoomOfSeed(config, seed);
    if (room !== null) return room;
    drawn += draws;
  }
  throw new NoInstance({ env_type: "sokoban", draws: mostDraws });
};
