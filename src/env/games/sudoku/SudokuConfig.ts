/**
 * `env_config` of Sudoku; keys and defaults are RAGEN's. `unique`, `limit_on_legal_only` and `conflicts` choose between corrected
 * rules, which are the defaults, and RAGEN's. Under `instances: ragen` puzzles are RAGEN's, whatever `unique` says.
 */
import { Schema } from "effect";
import { field, reward, steps } from "../../../config/field.ts";
import { renderMode } from "../GridText.ts";
import { instances } from "../instances.ts";

export const SudokuConfig = Schema.Struct({
  grid_size: field(Schema.Literals([4, 9, 16]), 9, "Rows and columns."),
  difficulty: field(
    Schema.Literals(["easy", "medium", "hard"]),
    "easy",
    "Share of cells left empty: easy 40 %, medium 50 %, hard 60 %.",
  ),
  unique: field(
    Schema.Boolean,
    true,
    "If true, only cells that leave the puzzle a single solution are emptied; if false, any cells, as in RAGEN (about a quarter of its easy, 60 % of its medium and 93 % of its hard puzzles of 9x9 have several).",
  ),
  instances,
  max_steps: field(steps, 81, "Actions after which the environment itself cuts the episode."),
  limit_on_legal_only: field(
    Schema.Boolean,
    false,
    "If true, max_steps is checked only on legal placements, as in RAGEN: refused actions then go on for ever.",
  ),
  conflicts: field(
    Schema.Literals(["refuse", "keep"]),
    "refuse",
    "Effect of a number that the row, column or box has already: refuse leaves the cell as it is; keep writes the number and marks the conflict. Both score invalid_action_score.",
  ),
  correct_placement_score: field(
    reward,
    1,
    "Reward of a number that is the solution's; another legal number earns half of it.",
  ),
  invalid_action_score: field(reward, -0.1, "Reward of an action that is unreadable, out of range or illegal."),
  completion_bonus: field(reward, 10, "Reward added when the puzzle is solved."),
  render_format: field(
    Schema.Literals(["simple", "detailed", "with_feedback"]),
    "detailed",
    "Observation. simple: the bare grid; detailed: the grid with marks and the result of the last action; with_feedback: also conflicts, candidates and progress.",
  ),
  show_conflicts: field(Schema.Boolean, true, "with_feedback: lists the cells in conflict."),
  show_valid_numbers: field(
    Schema.Boolean,
    true,
    "with_feedback: lists the numbers that each empty cell can take, once at most ten are empty.",
  ),
  show_candidates: field(
    Schema.Boolean,
    false,
    "with_feedback: lists the numbers that each empty cell can take, however many are empty.",
  ),
  render_mode: renderMode,
});
export type SudokuConfig = typeof SudokuConfig.Type;
