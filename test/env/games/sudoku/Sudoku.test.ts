/** Rewards, ends, feedback, observations and plans of Sudoku. */
import { describe, expect, it } from "vitest";
import { Sudoku } from "../../../../src/env/games/sudoku/Sudoku.ts";
import { SudokuConfig } from "../../../../src/env/games/sudoku/SudokuConfig.ts";
import type { SudokuState } from "../../../../src/env/games/sudoku/SudokuState.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";

const configWith = configsOf(SudokuConfig, { grid_size: 4, render_format: "with_feedback" });

const solution = "1234341221434321";
const puzzle = "1..4.4..2..3...1";
const start: SudokuState = { puzzle, solution, board: puzzle, steps: 0, last: null };

const step = (action: string, state: SudokuState = start, config = configWith()) =>
  Sudoku.step(config, state, action, noiseOf(0, 0, 0));
const shown = (action: string, state: SudokuState = start, config = configWith()): string =>
  Sudoku.render(config, step(action, state, config).state);

describe("a placement", () => {
  it("of the solution's number gives 1", () => {
    expect(step("place 2 at row 1 col 2")).toMatchObject({
      state: { board: "12.4.4..2..3...1", steps: 1 },
      reward: 1,
      terminated: false,
      truncated: false,
      info: {
        success: false,
        action_is_valid: true,
        action_is_effective: true,
        correct_placement: true,
        final_cells_filled: 7,
        final_cells_remaining: 9,
        final_steps_remaining: 80,
      },
    });
  });

  it("of another legal number gives 0.5", () => {
    expect(step("1,2,3")).toMatchObject({
      state: { board: "13.4.4..2..3...1" },
      reward: 0.5,
      info: { action_is_valid: true, action_is_effective: true, correct_placement: false },
    });
  });

  it("may overwrite what was placed", () => {
    const { state } = step("1,2,3");
    expect(step("1,2,2", state)).toMatchObject({ reward: 1, state: { board: "12.4.4..2..3...1" } });
  });

  it("that solves the puzzle gives 10 more and ends", () => {
    const last = { ...start, board: "1.34341221434321" };
    expect(step("1,2,2", last)).toMatchObject({
      reward: 11,
      terminated: true,
      truncated: false,
      info: { success: true, final_cells_remaining: 0 },
    });
  });

  it("scores as configured", () => {
    const config = configWith({ correct_placement_score: 2, invalid_action_score: -3, completion_bonus: 5 });
    expect(step("1,2,2", start, config).reward).toBe(2);
    expect(step("1,2,3", start, config).reward).toBe(1);
    expect(step("1,2,1", start, config).reward).toBe(-3);
    expect(step("1,2,2", { ...start, board: "1.34341221434321" }, config).reward).toBe(7);
  });
});

describe("a refused action costs 0.1, counts as a step and leaves the board:", () => {
  it.each([
    ["unreadable", "hello", '❌ Not a placement: "hello".'],
    ["a row out of range", "5,2,1", "❌ Row 5 does not exist: it goes from 1 to 4."],
    ["a column out of range", "place 1 at row 1 col 0", "❌ Column 0 does not exist"],
    ["a number out of range", "1,2,9", "❌ Number 9 does not exist"],
    ["an initial cell", "1,1,2", "❌ Cell (1,1) is an initial cell"],
    [
      "a conflict in the row",
      "1,2,1",
      "❌ 1 at (1,2) conflicts with row 1, box (1,1).\n   Valid numbers for (1,2): [2, 3]",
    ],
    ["a conflict in the column", "2,1,2", "❌ 2 at (2,1) conflicts with column 1.\n   Valid numbers for (2,1): [3]"],
  ])("%s", (_, action, text) => {
    const transition = step(action);
    expect(transition).toMatchObject({
      state: { board: puzzle, steps: 1 },
      reward: -0.1,
      terminated: false,
      truncated: false,
      info: { success: false, action_is_valid: false, action_is_effective: false, correct_placement: false },
    });
    expect(Sudoku.render(configWith(), transition.state)).toContain(text);
  });

  it("a number that stands there already", () => {
    const transition = step("2,3,3", { ...start, board: "1..4.43.2..3...1" });
    expect(transition).toMatchObject({ reward: -0.1, info: { action_is_valid: false, action_is_effective: false } });
    expect(Sudoku.render(configWith(), transition.state)).toContain("❌ Cell (2,3) holds 3 already.");
  });

  it("a long text, quoted in part", () => {
    const { last } = step("x".repeat(1000)).state;
    expect(last).toEqual({ _tag: "Unreadable", action: "x".repeat(80) });
  });
});

describe("max_steps", () => {
  const late = { ...start, steps: 2 };
  const mended = configWith({ max_steps: 3 });
  const ragen = configWith({ max_steps: 3, limit_on_legal_only: true });

  it("ends the episode after any action", () => {
    for (const action of ["hello", "1,1,2", "1,2,3"]) {
      expect(step(action, late, mended)).toMatchObject({ terminated: false, truncated: true });
    }
  });

  it("ends it only after a legal placement where RAGEN's way is asked for", () => {
    const refused = step("hello", { ...start, steps: 7 }, ragen);
    expect(refused).toMatchObject({ truncated: false, state: { steps: 8 } });
    expect(step("1,2,3", refused.state, ragen)).toMatchObject({ truncated: true });
  });

  it("does not take a solution back", () => {
    const last = { ...start, board: "1.34341221434321", steps: 2 };
    expect(step("1,2,2", last, mended)).toMatchObject({ terminated: true, truncated: false });
  });
});

describe("conflicts: keep", () => {
  const config = configWith({ conflicts: "keep" });

  it("writes the number, marks the conflict and lists its cells", () => {
    const transition = step("1,2,1", start, config);
    expect(transition).toMatchObject({ reward: -0.1, state: { board: "11.4.4..2..3...1" } });
    const text = Sudoku.render(config, transition.state);
    expect(text).toContain("[1]*1*|  . [4]");
    expect(text).toContain("⚠ CONFLICTS:\n  - Cell (1,1): 1\n  - Cell (1,2): 1\n");
    expect(Sudoku.render(configWith({ conflicts: "keep", show_conflicts: false }), transition.state)).not.toContain(
      "CONFLICTS",
    );
  });

  it("does not count a full board in conflict as solved", () => {
    const last = { ...start, board: "1.34341221434321" };
    const full = step("1,2,3", last, config);
    expect(full).toMatchObject({ terminated: false, info: { final_cells_remaining: 0, success: false } });
    expect(Sudoku.solve!(config, full.state)).toEqual(["place 2 at row 1 col 2"]);
  });
});

describe("the observation", () => {
  it("has frame, grid, legend, feedback, candidates, progress and steps", () => {
    expect(shown("place 2 at row 1 col 2")).toBe(
      [
        "=".repeat(50),
        "SUDOKU PUZZLE",
        "=".repeat(50),
        "[1] 2 |  . [4]",
        " . [4]|  .  .",
        "--------------",
        "[2] . |  . [3]",
        " .  . |  . [1]",
        "",
        "Legend: [n] initial cell, n placed, *n* in conflict, . empty",
        "",
        "✓ Correct: 2 at (1,2).",
        "",
        "💡 VALID NUMBERS FOR EMPTY CELLS:",
        "  - (1,3): [3]",
        "  - (2,1): [3]",
        "  - (2,3): [1, 2, 3]",
        "  - (2,4): [2]",
        "  - (3,2): [1]",
        "  - (3,3): [4]",
        "  - (4,1): [3, 4]",
        "  - (4,2): [3]",
        "  - (4,3): [2, 4]",
        "",
        "Progress: 7/16 cells filled (6 initial, 1 placed)",
        "Steps: 1/81",
      ].join("\n"),
    );
  });

  it("says when a legal number is not the solution's, and when all is done", () => {
    expect(shown("1,2,3")).toContain("⚠ Legal, but not the solution's number: 3 at (1,2).");
    expect(shown("1,2,2", { ...start, board: "1.34341221434321" })).toContain("🎉 The puzzle is solved!");
  });

  it("lists candidates from ten empty cells on, or always, or never", () => {
    const nine = Sudoku.reset(configWith({ grid_size: 9 }), instanceOf(1), "train");
    const listed = (keys: Readonly<Record<string, unknown>>, state: SudokuState): boolean =>
      Sudoku.render(configWith({ grid_size: Math.sqrt(state.board.length), ...keys }), state).includes("VALID NUMBERS");
    expect(listed({}, nine)).toBe(false);
    expect(listed({ show_candidates: true }, nine)).toBe(true);
    expect(listed({}, start)).toBe(true);
    expect(listed({ show_valid_numbers: false }, start)).toBe(false);
  });

  it("is shorter when asked to be", () => {
    const detailed = shown("1,2,3", start, configWith({ render_format: "detailed" }));
    expect(detailed).toContain("⚠ Legal");
    expect(detailed).not.toContain("Progress");
    expect(shown("1,2,3", start, configWith({ render_format: "simple" }))).toBe(
      "1 3 | . 4\n. 4 | . .\n----------\n2 . | . 3\n. . | . 1",
    );
  });

  it("keeps its columns where numbers have two digits", () => {
    const config = configWith({ grid_size: 16 });
    const lines = Sudoku.render(config, Sudoku.reset(config, instanceOf(1), "train"))
      .split("\n")
      .slice(3, 22);
    const bars = (line: string): number[] => [...line.matchAll(/\|/g)].map(({ index }) => index);
    const rows = lines.filter((line) => line.includes("|"));
    expect(rows.length).toBe(16);
    expect(rows.every((line) => bars(line).join() === bars(rows[0]!).join())).toBe(true);
  });

  it("is a symbol a cell for a small model", () => {
    expect(Sudoku.compact(configWith(), start)).toBe("1..4\n.4..\n2..3\n...1");
  });
});

describe("the solver", () => {
  it.each(["SimpleSudoku", "MediumSudoku"])("solves %s in as many placements as cells are empty", (tag) => {
    const environment = preset(tag);
    const state = environment.reset(instanceOf(3), "train") as SudokuState;
    expect(environment.solve!(state)!.length).toBe([...state.puzzle].filter((symbol) => symbol === ".").length);
  });

  it("goes on from legal numbers that are not the drawn solution's, where they can be completed", () => {
    const two: SudokuState = { ...start, puzzle: "................", board: "2..............." };
    expect(Sudoku.solve!(configWith(), two)!.length).toBe(15);
  });

  it("puts right what cannot be completed", () => {
    const { state } = step("1,2,3");
    const plan = Sudoku.solve!(configWith(), state)!;
    let at = state;
    for (const action of plan) at = step(action, at).state;
    expect(at.board).toBe(solution);
    expect(plan.length).toBe(10);
  });

  it("has a plan only where there are steps for it", () => {
    const two = { ...start, board: "1.3.341221434321", steps: 5 };
    const planned = (keys: Readonly<Record<string, unknown>>) => Sudoku.solve!(configWith(keys), two)?.length ?? null;
    expect([planned({ max_steps: 6 }), planned({ max_steps: 7 })]).toEqual([null, 2]);
    const one = { ...start, board: "1.34341221434321", steps: 9 };
    expect(Sudoku.solve!(configWith({ max_steps: 7, limit_on_legal_only: true }), one)).toHaveLength(1);
  });

  it("has no plan once the steps are used up, and an empty one at the end", () => {
    expect(Sudoku.solve!(configWith(), { ...start, steps: 81 })).toBeNull();
    expect(Sudoku.solve!(configWith(), { ...start, board: solution })).toEqual([]);
  });
});

describe("the thought", () => {
  const thinks = (board: string, action: string): string =>
    Sudoku.thought!(configWith(), { ...start, board }, [action]);

  it("says why the first number belongs where it goes", () => {
    expect(thinks("1..4.4..2..3.3.1", "place 2 at row 1 col 2")).toBe(
      "row 1 col 2 can only be 2 so place 2 at row 1 col 2",
    );
    expect(thinks("1..............1", "place 1 at row 2 col 3")).toBe(
      "1 fits its row only at row 2 col 3 so place 1 at row 2 col 3",
    );
    expect(thinks("................", "place 1 at row 1 col 1")).toBe(
      "row 1 col 1 can be 1 or 2 or 3 or 4 so place 1 at row 1 col 1",
    );
  });
});

describe("the content key", () => {
  it("is the puzzle's, whatever was placed", () => {
    const { state } = step("1,2,2");
    expect(Sudoku.contentKey(configWith(), state)).toBe(Sudoku.contentKey(configWith(), start));
    expect(Sudoku.contentKey(configWith(), start)).toBe(`sudoku:${puzzle}`);
  });
});
