/** Puzzles have as many empty cells as their difficulty says and one solution; RAGEN's are its own, bit for bit. */
import { describe, expect, it } from "vitest";
import { empty, isSolved } from "../../../../src/env/games/sudoku/Board.ts";
import { drawPuzzle, holeCount, type Puzzle, ragenPuzzle } from "../../../../src/env/games/sudoku/Puzzle.ts";
import { Sudoku } from "../../../../src/env/games/sudoku/Sudoku.ts";
import { SudokuConfig } from "../../../../src/env/games/sudoku/SudokuConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf } from "../../contract/players.ts";
import { isUnique } from "./unique.ts";

const configWith = configsOf(SudokuConfig);

const emptyCells = ({ puzzle }: Puzzle): number => [...puzzle].filter((symbol) => symbol === empty).length;
const keeps = ({ puzzle, solution }: Puzzle): boolean =>
  [...puzzle].every((symbol, cell) => symbol === empty || symbol === solution[cell]);

describe("the number of empty cells", () => {
  it.each([
    [4, "easy", 6],
    [4, "medium", 8],
    [4, "hard", 9],
    [9, "easy", 32],
    [9, "medium", 40],
    [9, "hard", 48],
    [16, "easy", 102],
    [16, "medium", 128],
    [16, "hard", 153],
  ] as const)("of %i rows, %s, is %i", (grid_size, difficulty, expected) => {
    expect(holeCount({ grid_size, difficulty })).toBe(expected);
  });
});

describe("our puzzles", () => {
  it.each([
    [4, "hard", 30],
    [9, "easy", 10],
    [9, "medium", 10],
    [9, "hard", 10],
    [16, "easy", 1],
  ] as const)("of %i rows, %s, have one solution", (grid_size, difficulty, count) => {
    const config = configWith({ grid_size, difficulty });
    for (let seed = 0; seed < count; seed++) {
      const puzzle = drawPuzzle(config, instanceOf(seed));
      expect(emptyCells(puzzle)).toBe(holeCount(config));
      expect(isSolved(grid_size, puzzle.solution)).toBe(true);
      expect(keeps(puzzle)).toBe(true);
      expect(isUnique(grid_size, puzzle)).toBe(true);
    }
  });

  it("may have several where that is allowed, and then often do", () => {
    const config = configWith({ unique: false, difficulty: "hard" });
    const drawn = Array.from({ length: 10 }, (_, seed) => drawPuzzle(config, instanceOf(seed)));
    expect(drawn.every((puzzle) => emptyCells(puzzle) === 48 && keeps(puzzle))).toBe(true);
    expect(drawn.filter((puzzle) => !isUnique(9, puzzle)).length).toBeGreaterThan(5);
  });
});

describe("RAGEN's puzzles", () => {
  it.each([
    [
      { grid_size: 9, difficulty: "easy" },
      10000,
      "492716.38.6.2...74..8954.6..5.1.28462874.5319.....3.5.6...874..314..9.85879..16.3",
      "492716538561238974738954162953172846287465319146893257625387491314629785879541623",
    ],
    [
      { grid_size: 9, difficulty: "easy" },
      10001,
      "8.1.7.32..976324.13.24189.5428.51....3..291481.9....5..531.469298..6.51..1....834",
      "841975326597632481362418975428351769635729148179846253753184692984263517216597834",
    ],
    [
      { grid_size: 9, difficulty: "medium" },
      123,
      "8.2.1.5.6..1.96..8.95.7.43.7.3.4.91214...9357...137....86...1..927..1...5.496..8.",
      "872413596431596278695278431763845912148629357259137864386754129927381645514962783",
    ],
    [
      { grid_size: 9, difficulty: "medium" },
      124,
      "953.16..8.7.238.968.6.....3...62..57.6..9.38..9..4.6..6..18...971496..352.9..74..",
      "953416278471238596826579143348621957162795384597843612635184729714962835289357461",
    ],
    [
      { grid_size: 9, difficulty: "hard" },
      7,
      ".....8..53.69..8....15.2..951.7.34.6..4...1.....1.42...6741..8.425....611.8......",
      "249368715356971824781542639512783496874629153693154278967415382425837961138296547",
    ],
    [
      { grid_size: 9, difficulty: "hard" },
      8,
      "..92..6.....5..89....9.13...1.79.5..48.6.5..9.5.4.2.....2.....3...3..75.3..179428",
      "539287614741563892628941375213798546487615239956432187172854963894326751365179428",
    ],
    [{ grid_size: 4, difficulty: "medium" }, 10000, "24...1..4231.3..", "2413312442311342"],
    [{ grid_size: 4, difficulty: "medium" }, 10001, ".1...312...1123.", "2143431234211234"],
    [{ grid_size: 4, difficulty: "medium" }, 10002, "24..1...3.4.421.", "2431132431424213"],
  ])("under %j and seed %i are its own", (keys, seed, puzzle, solution) => {
    expect(ragenPuzzle(configWith(keys), seed)).toEqual({ puzzle, solution });
  });

  it("are the instances under instances: ragen", () => {
    const config = configWith({ instances: "ragen" });
    expect(Sudoku.reset(config, instanceOf(10_000), "train")).toMatchObject(ragenPuzzle(config, 10_000));
  });
});
