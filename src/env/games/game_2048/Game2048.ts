/**
 * 2048: moves slide the tiles of a board, equal tiles merge, and every move that moves something brings a new tile. A game ends when nothing
 * moves any more. New tiles come from the episode's noise stream: a group shares only its first board (in RAGEN also the tiles).
 */
import type { Draws, Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { gridText } from "../GridText.ts";
import { numpyGenerator } from "../random/NumpyGenerator.ts";
import { type Cells, directions, emptyCells, movableDirections, slide, tileValue } from "./Board.ts";
import { advise } from "./Expectimax.ts";
import { Game2048Config } from "./Game2048Config.ts";

export interface Game2048State {
  /** The row-major exponents of two, 0 for empty. */
  readonly cells: Cells;
  /** The points of all merges so far. */
  readonly score: number;
}

export interface Game2048Info extends BaseInfo {
  /** The points of this move, or `invalid_act_score`. */
  readonly raw_reward: number;
  readonly final_score: number;
  readonly final_max_tile: number;
}

/** Puts a 2 or a 4 on a random empty cell. */
const withNewTile = (cells: Cells, twoProb: number, random: Draws): Cells => {
  const cell = random.pick(emptyCells(cells));
  return cells.with(cell, random.uniform() < twoProb ? 1 : 2);
};

const reset = ({ instances, size, two_prob }: Game2048Config, instance: Random): Game2048State => {
  const random = instances === "ragen" ? numpyGenerator(instance.key.seed) : instance;
  const empty: Cells = Array.from({ length: size * size }, () => 0);
  return { cells: withNewTile(withNewTile(empty, two_prob, random), two_prob, random), score: 0 };
};

const highest = (cells: Cells): number => tileValue(Math.max(...cells));

const isEnded = (config: Game2048Config, cells: Cells): boolean =>
  (config.stop_at_goal && highest(cells) >= config.goal_tile) || movableDirections(config.size, cells).length === 0;

/** The reward of a move, given its points. */
const rewardOf = (config: Game2048Config, raw: number): number => {
  if (!config.use_log_reward) return raw;
  return raw > 0 ? Math.log2(raw + 1) * 0.1 : 0;
};

const step = (
  config: Game2048Config,
  state: Game2048State,
  action: string,
  noise: Random,
): Transition<Game2048State, Game2048Info> => {
  const direction = (directions as readonly string[]).indexOf(action);
  if (direction < 0) throw new IllegalAction({ env_type: "game_2048", action, valid: directions });
  const over = isEnded(config, state.cells);
  const { cells: slid, points } = slide(config.size, state.cells, direction);
  const moves = !over && slid !== state.cells;
  const raw = moves ? points : over ? 0 : config.invalid_act_score;
  const next = moves ? { cells: withNewTile(slid, config.two_prob, noise), score: state.score + points } : state;
  const terminated = moves ? isEnded(config, next.cells) : over;
  const max_tile = highest(next.cells);
  return {
    state: next,
    reward: rewardOf(config, raw),
    terminated,
    truncated: false,
    info: {
      success: terminated && max_tile >= config.goal_tile,
      action_is_effective: moves,
      action_is_valid: moves,
      raw_reward: raw,
      final_score: next.score,
      final_max_tile: max_tile,
    },
  };
};

const movableNames = (config: Game2048Config, cells: Cells): readonly string[] =>
  movableDirections(config.size, cells).map((direction) => directions[direction]!);

const render = (config: Game2048Config, { cells, score }: Game2048State): string => {
  const rows = Array.from({ length: config.size }, (_, row) =>
    cells.slice(row * config.size, (row + 1) * config.size).map(tileValue),
  );
  return [
    "Current 2048 Grid:",
    ...rows.map((row, at) => `Row ${at + 1}: [${row.join(", ")}]`),
    "",
    `Valid Actions: ${movableNames(config, cells).join(", ") || "None"}.`,
    `Goal: merge equal tiles until one of them is ${config.goal_tile}.`,
    `Current Score: ${score}`,
    "What is your next move?",
  ].join("\n");
};

/** Writes a cell as one character: `.` for empty, 1 for 2, 2 for 4, …, 9 for 512, A for 1024, and so on. */
const glyph = (exponent: number): string => {
  if (exponent === 0) return ".";
  return exponent < 10 ? String(exponent) : String.fromCharCode("A".charCodeAt(0) + exponent - 10);
};

export const Game2048: Environment<Game2048Config, Game2048State, Game2048Info> = {
  type: "game_2048",
  config: Game2048Config,
  reset,
  step,
  render,
  compact: ({ size }, { cells }) => gridText(size, cells.map(glyph)),
  /** All four directions are legal: one that moves nothing has no effect, as in RAGEN. */
  actions: () => directions,
  legend: () => "Row 1 is the top row. 0 is an empty cell, any other number a tile.",
  advise: (config, { cells }) => advise(config, cells),
  /** The thought names the number of empty cells, the moves that move something, and the one to make. */
  thought: (config, { cells }, plan) =>
    `free ${emptyCells(cells).length} moves ${[...movableNames(config, cells), "then go", ...plan.slice(0, 1)].join(" ")}`,
  /** The key is the board. There are only 480 first boards of 4x4. */
  contentKey: ({ size }, { cells }) => `game_2048:${gridText(size, cells.map(glyph)).replaceAll("\n", "/")}`,
};
