/** Under `instances: ragen` a seed stands for the puzzle and the solution that RAGEN's generator draws under it. */
import { Schema } from "effect";
import { expect, it } from "vitest";
import { Sudoku } from "../../../../src/env/games/sudoku/Sudoku.ts";
import { SudokuConfig } from "../../../../src/env/games/sudoku/SudokuConfig.ts";
import { instanceOf } from "../../contract/players.ts";
import { ragen } from "../ragen.ts";

it.each(ragen.sudoku)("are RAGEN's own under $env_config from seed $first", ({ env_config, first, instances }) => {
  const config = Schema.decodeUnknownSync(SudokuConfig)({ ...env_config, instances: "ragen" });
  const drawn = instances.map((_, at) => {
    const { puzzle, solution } = Sudoku.reset(config, instanceOf(first + at), "train");
    return [puzzle, solution];
  });
  expect(drawn).toEqual(instances);
});
