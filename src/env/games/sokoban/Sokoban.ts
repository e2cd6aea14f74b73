/**
 * Sokoban: the player pushes every box onto a target in a generated room. Each action costs 0.1; a box pushed onto a target gives 1, one pushed
 * off it costs 1, and solving the room gives 10 and terminates; `max_steps` truncates. `env_config` may reward success alone, and shape
 * either reward (RAGEN PR #160). Unlike RAGEN's, the legend describes the configured symbols and room.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { coordinateText, gridText, gridViews, type LabelledCells, lacksImages, placeText } from "../GridText.ts";
import { drawRoom, ragenRoom } from "./Room.ts";
import { meanings, roomSize, SokobanConfig } from "./SokobanConfig.ts";
import { shortestSolution } from "./Solver.ts";

export interface SokobanState {
  /** The row-major cells: 0 wall, 1 floor, 2 target. */
  readonly layout: string;
  readonly player: number;
  /** The cells of the boxes, ascending. */
  readonly boxes: readonly number[];
  readonly steps: number;
}

const directions: readonly string[] = ["Up", "Down", "Left", "Right"];

const countOnTarget = (layout: string, boxes: readonly number[]): number => {
  let count = 0;
  for (const box of boxes) if (layout[box] === "2") count++;
  return count;
};

const reset = (config: SokobanConfig, instance: Random): SokobanState => {
  const ragen = config.instances === "ragen";
  const { layout, player, boxes } = ragen ? ragenRoom(config, instance.key.seed) : drawRoom(config, instance);
  return { layout, player, boxes, steps: 0 };
};

/** Moves the player, and pushes a box in the way if the cell behind it is free; else nothing changes. */
const move = (state: SokobanState, offset: number): Pick<SokobanState, "player" | "boxes"> => {
  const { layout, player, boxes } = state;
  const to = player + offset;
  if (layout[to] === "0") return state;
  if (!boxes.includes(to)) return { player: to, boxes };
  const beyond = to + offset;
  if (layout[beyond] === "0" || boxes.includes(beyond)) return state;
  return { player: to, boxes: boxes.map((box) => (box === to ? beyond : box)).sort((a, b) => a - b) };
};

/** The sum of the Manhattan distances of the boxes from their nearest targets. */
const distance = (cols: number, layout: string, boxes: readonly number[]): number => {
  const targets = Array.from(layout, (_, cell) => cell).filter((cell) => layout[cell] === "2");
  const apart = (a: number, b: number): number =>
    Math.abs(Math.floor(a / cols) - Math.floor(b / cols)) + Math.abs((a % cols) - (b % cols));
  return boxes.reduce((sum, box) => sum + Math.min(...targets.map((target) => apart(box, target))), 0);
};

/** The reward of a move between two states of a room. It is summed in RAGEN's order, so that the printed floats are equal. */
const rewardOf = (
  config: SokobanConfig,
  before: SokobanState,
  after: Pick<SokobanState, "player" | "boxes">,
): number => {
  const { layout } = before;
  const [was, is] = [countOnTarget(layout, before.boxes), countOnTarget(layout, after.boxes)];
  const success = is === before.boxes.length;
  let reward: number;
  if (config.ignore_gym_reward) reward = success ? config.success_reward : 0;
  else {
    reward = -0.1;
    if (is > was) reward += 1;
    else if (is < was) reward -= 1;
    if (success) reward += 10;
  }
  if (config.distance_reward_coeff !== 0) {
    const cols = roomSize(config)[1];
    const nearer = distance(cols, layout, before.boxes) - distance(cols, layout, after.boxes);
    reward += nearer * config.distance_reward_coeff;
  }
  return after.player === before.player ? reward + config.no_op_penalty : reward;
};

const step = (config: SokobanConfig, state: SokobanState, action: string): Transition<SokobanState, BaseInfo> => {
  const direction = directions.indexOf(action);
  if (direction < 0) throw new IllegalAction({ env_type: "sokoban", action, valid: directions });
  const before = countOnTarget(state.layout, state.boxes);
  const boxCount = state.boxes.length;
  if (before === boxCount || state.steps >= config.max_steps) {
    return {
      state,
      reward: 0,
      terminated: before === boxCount,
      truncated: before !== boxCount,
      info: { success: before === boxCount, action_is_effective: false, action_is_valid: true },
    };
  }
  const cols = roomSize(config)[1];
  const { player, boxes } = move(state, [-cols, cols, -1, 1][direction]!);
  const success = countOnTarget(state.layout, boxes) === boxCount;
  const steps = state.steps + 1;
  return {
    state: { layout: state.layout, player, boxes, steps },
    reward: rewardOf(config, state, { player, boxes }),
    terminated: success,
    truncated: !success && steps >= config.max_steps,
    info: { success, action_is_effective: player !== state.player, action_is_valid: true },
  };
};

type Code = keyof typeof meanings;

/** The cell codes of the room with its player and boxes. */
const codes = ({ layout, player, boxes }: SokobanState): Code[] => {
  const cells = Array.from(layout, (cell): Code => (cell === "0" ? "0" : cell === "2" ? "2" : "1"));
  for (const box of boxes) cells[box] = cells[box] === "2" ? "3" : "4";
  cells[player] = cells[player] === "2" ? "6" : "5";
  return cells;
};

const grid = (config: SokobanConfig, state: SokobanState): string =>
  gridText(
    roomSize(config)[1],
    codes(state).map((code) => config.grid_lookup[code]),
  );

const coordinates = (config: SokobanConfig, { layout, player, boxes }: SokobanState): string => {
  const isTarget = (cell: number): boolean => layout[cell] === "2";
  const targets = Array.from(layout, (_, cell) => cell).filter(isTarget);
  const located: LabelledCells[] = [
    ["Targets", targets],
    ["Boxes", boxes.filter((box) => !isTarget(box))],
    ["Boxes on target", boxes.filter(isTarget)],
    [isTarget(player) ? "Player on target" : "Player", [player]],
  ];
  const [rows, cols] = roomSize(config);
  return coordinateText(rows, cols, located);
};

export const Sokoban: Environment<SokobanConfig, SokobanState> = {
  type: "sokoban",
  config: SokobanConfig,
  reset,
  step,
  ...gridViews<SokobanConfig, SokobanState, Code>({
    size: roomSize,
    grid,
    coordinates,
    codes: ["0", "1", "2", "3", "4", "5", "6"],
    meanings,
  }),
  lacks: lacksImages,
  actions: () => directions,
  /** The solution is null also if the steps left do not suffice. */
  solve: (config, { layout, player, boxes, steps }) => {
    const plan = shortestSolution({ cols: roomSize(config)[1], layout, player, boxes });
    if (plan === null || plan.length > config.max_steps - steps) return null;
    return plan.map((direction) => directions[direction]!);
  },
  /** The thought names the cells of player, boxes and targets, and whether the first action goes or pushes. */
  thought: (config, { layout, player, boxes }, plan) => {
    const cols = roomSize(config)[1];
    const first = plan[0] ?? "";
    const offset = [-cols, cols, -1, 1][directions.indexOf(first)] ?? 0;
    const targets = Array.from(layout, (_, cell) => cell).filter((cell) => layout[cell] === "2");
    return [
      placeText(cols, "player", [player]),
      placeText(cols, "box", boxes),
      placeText(cols, "target", targets),
      `then ${boxes.includes(player + offset) ? "push" : "go"} ${first}`,
    ].join(" ");
  },
  contentKey: (config, state) => `sokoban:${gridText(roomSize(config)[1], codes(state)).replaceAll("\n", "/")}`,
};
