/**
 * FrozenLake: the player walks from a random start to a random goal over ice with holes, and slides sideways now and then. The goal gives
 * reward 1, all else 0; goal and hole end the episode, and there is no time limit. Unlike RAGEN, each episode has its own slips, whatever
 * `instances` says, and the legend describes the configured symbols and board.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { coordinateText, gridText, gridViews, type LabelledCells, lacksImages, placeText } from "../GridText.ts";
import { FrozenLakeConfig, meanings } from "./FrozenLakeConfig.ts";
import { directions, drawMap, neighbour, ragenMap, shortestWalk } from "./FrozenLakeMap.ts";

export interface FrozenLakeState {
  /** Row-major cells: S, G, F or H. */
  readonly layout: string;
  /** Cell of the player. */
  readonly player: number;
}

const isEnded = (state: FrozenLakeState): boolean =>
  state.layout[state.player] === "G" || state.layout[state.player] === "H";

const reset = (config: FrozenLakeConfig, instance: Random): FrozenLakeState => {
  const layout = config.instances === "ragen" ? ragenMap(config, instance.key.seed) : drawMap(config, instance);
  return { layout, player: layout.indexOf("S") };
};

/** The direction actually taken. */
const slide = (config: FrozenLakeConfig, intended: number, noise: Random): number => {
  if (!config.is_slippery) return intended;
  const draw = noise.uniform();
  if (draw < config.success_rate) return intended;
  return draw < config.success_rate + (1 - config.success_rate) / 2 ? (intended + 3) % 4 : (intended + 1) % 4;
};

const step = (
  config: FrozenLakeConfig,
  state: FrozenLakeState,
  action: string,
  noise: Random,
): Transition<FrozenLakeState, BaseInfo> => {
  const intended = directions.indexOf(action);
  if (intended < 0) throw new IllegalAction({ env_type: "frozen_lake", action, valid: directions });
  const over = isEnded(state);
  const player = over ? state.player : neighbour(config.size, state.player, slide(config, intended, noise));
  const success = state.layout[player] === "G";
  return {
    state: over ? state : { layout: state.layout, player },
    reward: success && !over ? 1 : 0,
    terminated: success || state.layout[player] === "H",
    truncated: false,
    info: { success, action_is_effective: player !== state.player, action_is_valid: true },
  };
};

const codeOf = (cell: string, underPlayer: boolean): keyof typeof meanings => {
  switch (cell) {
    case "H":
      return underPlayer ? "4" : "2";
    case "G":
      return underPlayer ? "5" : "3";
    default:
      return underPlayer ? "0" : "1";
  }
};

const grid = (config: FrozenLakeConfig, { layout, player }: FrozenLakeState): string =>
  gridText(
    config.size,
    Array.from(layout, (cell, index) => config.grid_lookup[codeOf(cell, index === player)]),
  );

const coordinates = (config: FrozenLakeConfig, { layout, player }: FrozenLakeState): string => {
  const cellsOf = (kind: string): number[] =>
    Array.from(layout, (cell, index) => (cell === kind ? index : -1)).filter((index) => index >= 0);
  const at = layout[player];
  const located: LabelledCells[] = [
    ["Start", cellsOf("S")],
    ["Goal", cellsOf("G")],
    [at === "G" ? "Player on goal" : at === "H" ? "Player in hole" : "Player", [player]],
    ["Holes", cellsOf("H")],
  ];
  return coordinateText(config.size, config.size, located);
};

/** The directions without a hole or the edge of the board. */
const freeDirections = (size: number, layout: string, cell: number): readonly string[] =>
  directions.filter((_, at) => {
    const next = neighbour(size, cell, at);
    return next !== cell && layout[next] !== "H";
  });

export const FrozenLake: Environment<FrozenLakeConfig, FrozenLakeState> = {
  type: "frozen_lake",
  config: FrozenLakeConfig,
  reset,
  step,
  ...gridViews<FrozenLakeConfig, FrozenLakeState, keyof typeof meanings>({
    size: ({ size }) => [size, size],
    grid,
    coordinates,
    codes: ["0", "1", "2", "3", "4", "5"],
    meanings,
  }),
  lacks: lacksImages,
  actions: () => directions,
  /** Rewards are whole, as Gymnasium's are since 1.2.1. */
  wholeRewards: true,
  /** The plan has the fewest steps past the holes, as if no step slipped. */
  solve: (config, state) => {
    if (isEnded(state)) return state.layout[state.player] === "G" ? [] : null;
    return shortestWalk(config.size, state.layout, state.player)?.map((direction) => directions[direction]!) ?? null;
  },
  /** The thought names the places of player and goal, and of the first two steps the ways that are free and the one to take. */
  thought: ({ size }, { layout, player }, plan) => {
    const words = [placeText(size, "player", [player]), placeText(size, "goal", [layout.indexOf("G")])];
    let cell = player;
    for (const action of plan.slice(0, 2)) {
      words.push("free", ...freeDirections(size, layout, cell), "then", action);
      cell = neighbour(size, cell, directions.indexOf(action));
    }
    return words.join(" ");
  },
  contentKey: (_config, state) => `frozen_lake:${state.layout}`,
};
