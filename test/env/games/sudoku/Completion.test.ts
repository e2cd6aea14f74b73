/** Completions of published puzzles, of boards without one and of boards with many. */
import { describe, expect, it } from "vitest";
import { empty, isSolved } from "../../../../src/env/games/sudoku/Board.ts";
import { complete } from "../../../../src/env/games/sudoku/Completion.ts";
import { instanceOf } from "../../contract/players.ts";
import { isUnique } from "./unique.ts";

describe("a completion", () => {
  it.each([
    [
      "a puzzle called the hardest",
      "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
      "812753649943682175675491283154237896369845721287169534521974368438526917796318452",
    ],
    [
      "one made to defeat search from the first cell on",
      "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
      "987654321246173985351928746128537694634892157795461832519286473472319568863745219",
    ],
  ])("of %s is its published solution, and the only one", (_, puzzle, solution) => {
    expect(complete(9, puzzle)).toEqual({ _tag: "Found", board: solution });
    expect(isUnique(9, { puzzle, solution })).toBe(true);
  });

  it.each([4, 9, 16] as const)("of an empty board of %i rows is a legal board, another for each stream", (size) => {
    const boards = [1, 2].map((seed) => {
      const found = complete(size, empty.repeat(size * size), { random: instanceOf(seed) });
      return found._tag === "Found" ? found.board : "";
    });
    expect(boards.every((board) => isSolved(size, board))).toBe(true);
    expect(boards[0]).not.toBe(boards[1]);
  });

  it("is none where a number has no place left, though nothing conflicts", () => {
    // The first row's 4 fits neither of its empty cells.
    expect(complete(4, "12.......4.....4")._tag).toBe("Found");
    expect(complete(4, "12....4........4")._tag).toBe("None");
  });

  it("is none of a board in conflict", () => {
    expect(complete(4, "11..............")._tag).toBe("None");
  });

  it("can be asked to differ in a cell", () => {
    const found = complete(4, empty.repeat(16), { except: { cell: 0, symbol: "1" } });
    expect(found._tag === "Found" && found.board[0]).not.toBe("1");
    expect(complete(4, "1...............", { except: { cell: 0, symbol: "1" } })._tag).toBe("None");
  });
});
