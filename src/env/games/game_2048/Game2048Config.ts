/** `env_config` of 2048; keys and defaults are RAGEN's, but for `goal_tile` and `stop_at_goal`, which it has as constants. */
import { Schema } from "effect";
import { field, fraction, reward, whole } from "../../../config/field.ts";
import { renderMode } from "../GridText.ts";
import { instances } from "../instances.ts";

export const Game2048Config = Schema.Struct({
  size: field(Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 5 })), 4, "Rows and columns of the board."),
  two_prob: field(fraction, 0.9, "Probability that a new tile is a 2, not a 4."),
  use_log_reward: field(
    Schema.Boolean,
    true,
    "If true, a move earns a tenth of log2(points + 1), and one that moves nothing 0; if false, the points themselves, or invalid_act_score.",
  ),
  invalid_act_score: field(
    reward,
    -0.1,
    "Raw reward of a move that moves nothing; with use_log_reward such a move earns 0.",
  ),
  goal_tile: field(
    whole(8, 2 ** 26).check(
      Schema.makeFilter((tile) => Number.isInteger(Math.log2(tile)) || "a power of two from 8 on"),
    ),
    2048,
    "A game with this tile or a higher one is a success when it ends.",
  ),
  stop_at_goal: field(
    Schema.Boolean,
    false,
    "If true, reaching the goal tile ends the game. RAGEN's games go on until nothing moves, and a limit of actions cuts a won game as a lost one.",
  ),
  instances,
  render_mode: renderMode,
});
export type Game2048Config = typeof Game2048Config.Type;
