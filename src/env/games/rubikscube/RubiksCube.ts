/**
 * The 2x2 Rubik's cube: turn faces until each shows one colour. Reward 1 for solving it, else 0; solving terminates, `max_steps`
 * truncates. Turns of a scramble do not cancel, and B turns the back face; `instances` and `back_turn` choose RAGEN's behaviour.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { IllegalAction } from "../../contract/IllegalAction.ts";
import { shortestSolution } from "./Corners.ts";
import { apply, type Face, faceOf, faces, isSolved, type Turn, turns, turnTables } from "./Cube.ts";
import { RubiksCubeConfig } from "./RubiksCubeConfig.ts";
import { ragenScramble, scramble } from "./Scramble.ts";
import { search } from "./Search.ts";

export interface RubiksCubeState {
  /** 24 letters, in the order of `Cube`. */
  readonly cube: string;
  readonly steps: number;
}

/** Turns that solutions under RAGEN's B are searched for; about 7 000 cubes. */
const searched = 4;

const names: Readonly<Record<Face, string>> = { U: "Up", L: "Left", F: "Front", R: "Right", B: "Back", D: "Down" };

/** A scramble that happens to be solved is no success: the last turn has to solve it. */
const succeeded = ({ cube, steps }: RubiksCubeState): boolean => steps > 0 && isSolved(cube);

const isTurn = (action: string): action is Turn => (turns as readonly string[]).includes(action);

const step = (
  config: RubiksCubeConfig,
  state: RubiksCubeState,
  action: string,
): Transition<RubiksCubeState, BaseInfo> => {
  if (!isTurn(action)) throw new IllegalAction({ env_type: "rubikscube", action, valid: turns });
  const over = succeeded(state) || state.steps >= config.max_steps;
  const next = over ? state : { cube: apply(state.cube, turnTables[config.back_turn][action]), steps: state.steps + 1 };
  const success = succeeded(next);
  return {
    state: next,
    reward: success && !over ? 1 : 0,
    terminated: success,
    truncated: !success && next.steps >= config.max_steps,
    info: { success, action_is_effective: !over, action_is_valid: true },
  };
};

/** Fewest turns for any cube; under RAGEN's B only what four turns solve. Null where the turns left do not suffice, too. */
const solve = (config: RubiksCubeConfig, state: RubiksCubeState): readonly Turn[] | null => {
  if (succeeded(state)) return [];
  const left = config.max_steps - state.steps;
  if (isSolved(state.cube)) return left < 2 ? null : ["U", "U'"];
  const plan =
    config.back_turn === "true"
      ? shortestSolution(state.cube)
      : search(turnTables.ragen, state.cube, Math.min(searched, left));
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
    succeeded(state)
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
  /** Which faces are of one colour, and the first turn. */
  thought: (_config, { cube }, plan) => {
    const whole = faces.filter((face) => new Set(faceOf(cube, face)).size === 1);
    return `${whole.length > 0 ? `done ${whole.join(" ")}` : "no face done"} then turn ${plan[0] ?? ""}`;
  },
  contentKey: (_config, { cube }) => `rubikscube:${cube}`,
};
