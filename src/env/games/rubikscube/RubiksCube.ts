/**
 * The 2x2 Rubik's cube: the player turns faces until each shows one colour. Solving it gives reward 1 and terminates; `max_steps` truncates.
 * Turns of a scramble do not cancel, and B turns the back face; `instances` and `back_turn` choose RAGEN's behaviour.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { shortestSolution } from "./Corners.ts";
import { apply, type Face, faceOf, faces, isSolved, type Turn, turns, turnTables } from "./Cube.ts";
import { RubiksCubeConfig } from "./RubiksCubeConfig.ts";
import { ragenScramble, scramble } from "./Scramble.ts";
import { searchSolution } from "./Search.ts";

export interface RubiksCubeState {
  /** The 24 letters of the stickers, in the order of `Cube.ts`. */
  readonly cube: string;
  readonly steps: number;
}

/** The search for solutions under RAGEN's B goes so many turns deep, through about 7 000 cubes. */
const searchDepth = 4;

const names: Readonly<Record<Face, string>> = { U: "Up", L: "Left", F: "Front", R: "Right", B: "Back", D: "Down" };

/** A scramble that happens to be solved is no success: the last turn has to solve it. */
const isSuccess = ({ cube, steps }: RubiksCubeState): boolean => steps > 0 && isSolved(cube);

const isTurn = (action: string): action is Turn => (turns as readonly string[]).includes(action);

const step = (
  config: RubiksCubeConfig,
  state: RubiksCubeState,
  action: string,
): Transition<RubiksCubeState, BaseInfo> => {
  if (!isTurn(action)) throw new IllegalAction({ env_type: "rubikscube", action, valid: turns });
  const over = isSuccess(state) || state.steps >= config.max_steps;
  const next = over ? state : { cube: apply(state.cube, turnTables[config.back_turn][action]), steps: state.steps + 1 };
  const success = isSuccess(next);
  return {
    state: next,
    reward: success && !over ? 1 : 0,
    terminated: success,
    truncated: !success && next.steps >= config.max_steps,
    info: { success, action_is_effective: !over, action_is_valid: true },
  };
};

/** The fewest turns that solve a cube; under RAGEN's B only cubes that four turns solve. Null also if the turns left do not suffice. */
const solve = (config: RubiksCubeConfig, state: RubiksCubeState): readonly Turn[] | null => {
  if (isSuccess(state)) return [];
  const left = config.max_steps - state.steps;
  if (isSolved(state.cube)) return left < 2 ? null : ["U", "U'"];
  const plan =
    config.back_turn === "true"
      ? shortestSolution(state.cube)
      : searchSolution(turnTables.ragen, state.cube, Math.min(searchDepth, left));
  return plan !== null && plan.length <= left ? plan : null;
};

const faceRows = (cube: string, face: Face): readonly string[] => {
  const [a, b, c, d] = faceOf(cube, face);
  const label = `${names[face]} (${face}):`.padEnd(11);
  return [`${label}[${a}, ${b}]`, `${" ".repeat(11)}[${c}, ${d}]`];
};

const render = (config: RubiksCubeConfig, state: RubiksCubeState): string =>
  [
    "=== Rubik's Cube 2x2 ===",
    `Step: ${state.steps}/${config.max_steps}`,
    "",
    ...faces.flatMap((face) => faceRows(state.cube, face)),
    "",
    isSuccess(state)
      ? "Solved: every face shows one colour."
      : state.steps >= config.max_steps
        ? "Not solved, and no turns are left."
        : `Actions: ${turns.join(", ")}`,
  ].join("\n");

export const RubiksCube: Environment<RubiksCubeConfig, RubiksCubeState> = {
  type: "rubikscube",
  config: RubiksCubeConfig,
  reset: (config, instance: Random) => ({
    cube: config.instances === "ragen" ? ragenScramble(config, instance.key.seed) : scramble(config, instance),
    steps: 0,
  }),
  step,
  render,
  compact: (_config, { cube }) => faces.map((face) => `${face} ${faceOf(cube, face)}`).join("\n"),
  actions: () => turns,
  legend: () =>
    "Colours: W white, O orange, G green, R red, B blue, Y yellow.\n" +
    "A face is written row by row as you see it when you look straight at it: the back is at the top of face U, the front at the top of face D.",
  solve,
  /** The thought names the faces of one colour, and the first turn. */
  thought: (_config, { cube }, plan) => {
    const whole = faces.filter((face) => new Set(faceOf(cube, face)).size === 1);
    return `${whole.length > 0 ? `done ${whole.join(" ")}` : "no face done"} then turn ${plan[0] ?? ""}`;
  },
  contentKey: (_config, { cube }) => `rubikscube:${cube}`,
};
