/**
 * Rooms of Sokoban: draws enter, a solvable room leaves. A walk stamps floor into a walled board, player and targets are placed on
 * it, reverse play moves the boxes off their targets, and the player wanders a few cells. A room that no reverse play can
 * displace is drawn again from the same stream (RAGEN reseeds from a salted string hash, which no second process can repeat; the
 * distribution is the same).
 */
import type { Random } from "../../domain/Random.ts";
import { NoInstance } from "../NoInstance.ts";
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
const drawFloor = (rows: number, cols: number, random: Random): Uint8Array => {
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
const place = (rows: number, cols: number, count: number, floor: Uint8Array, random: Random): Board | null => {
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
  random: Random,
): number => {
  if (random.uniform() >= (displacement === 1 ? 0.8 : 0.5)) return start;
  const stood = [start];
  let player = start;
  for (let steps = 1; ; steps++) {
    const open = [player - cols, player + cols, player - 1, player + 1].filter(
      (cell) => floor[cell] === 1 && !boxes.includes(cell) && !stood.includes(cell),
    );
    if (open.length === 0) return player;
    player = random.pick(open);
    stood.push(player);
    if (steps === 3 || random.uniform() >= 0.5) return player;
  }
};

/** A solvable room with at least one box off its target. Throws NoInstance when the configuration hardly ever gives one. */
export const drawRoom = (config: SokobanConfig, random: Random): Room => {
  const [rows, cols] = roomSize(config);
  for (let draw = 0; draw < mostDraws; draw++) {
    const board = place(rows, cols, config.num_boxes, drawFloor(rows, cols, random), random);
    if (board === null) continue;
    const displaced = reversePlay(board, config.search_depth);
    if (displaced.displacement === 0) continue;
    const { boxes, displacement } = displaced;
    let layout = "";
    for (let cell = 0; cell < board.floor.length; cell++) {
      layout += board.floor[cell] === 0 ? "0" : board.targets.includes(cell) ? "2" : "1";
    }
    return {
      layout,
      player: wander(board, boxes, displaced.player, displacement, random),
      boxes: boxes.slice().sort((a, b) => a - b),
      displacement,
    };
  }
  throw new NoInstance({ env_type: "sokoban", draws: mostDraws });
};
