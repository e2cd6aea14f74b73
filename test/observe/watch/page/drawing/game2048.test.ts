/** Pictures of 2048 are the boards that the environment plays. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { tileValue } from "../../../../../src/env/games/game_2048/Board.ts";
import { Game2048, type Game2048State } from "../../../../../src/env/games/game_2048/Game2048.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { statesOf } from "./states.ts";

const draw = (text: string) => drawingOf({ env_type: "game_2048", env_config: {} }, text);

const expected = ({ cells, score }: Game2048State, size: number) => ({
  full: { kind: "game_2048", rows: size, cols: size, cells: cells.map(tileValue), score },
  compact: { kind: "game_2048", rows: size, cols: size, cells: cells.map(tileValue) },
});

describe("a drawing of 2048", () => {
  it.each([2, 3, 4, 5])("has every cell of the state: %i x %i", (size) => {
    const states = statesOf(Game2048, { size }, { seeds: 5, actions: 60 });
    expect(states.length).toBeGreaterThan(20);
    for (const { compact, full, state } of states) {
      expect(draw(full)).toEqual(expected(state, size).full);
      expect(draw(compact)).toEqual(expected(state, size).compact);
    }
  });

  it("has the largest tiles of either form", () => {
    const cells = [0, 1, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 24, 26, 2];
    const config = Schema.decodeUnknownSync(Game2048.config)({});
    const state: Game2048State = { cells, score: 7 };
    expect(draw(Game2048.render(config, state))).toEqual(expected(state, 4).full);
    expect(draw(Game2048.compact(config, state))).toEqual(expected(state, 4).compact);
  });

  it.each([
    ["a number that is no tile", "Current 2048 Grid:\nRow 1: [0, 3]\nRow 2: [2, 0]\n"],
    ["a missing row", "Current 2048 Grid:\nRow 1: [0, 2]\nRow 3: [2, 0]\n"],
    ["rows of unequal length", "Current 2048 Grid:\nRow 1: [0, 2]\nRow 2: [2]\n"],
    ["a symbol of no meaning", "..\n.?"],
    ["words", "Up"],
  ])("is not made of a text with %s", (_, text) => {
    expect(draw(text)).toBeNull();
  });
});
