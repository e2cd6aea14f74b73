/** Pictures of Sokoban are the rooms that the environment plays. */

import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { Sokoban, type SokobanState } from "../../../../../src/env/games/sokoban/Sokoban.ts";
import { meanings, SokobanConfig } from "../../../../../src/env/games/sokoban/SokobanConfig.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { codes } from "../../../../../src/observe/watch/page/drawing/sokoban.ts";
import { statesOf } from "./states.ts";

/** Walls and floor are told only by a grid. */
const cellsOf = ({ boxes, layout, player }: SokobanState, notation: "all" | "coordinates"): readonly string[] =>
  Array.from(layout, (ground, cell) => {
    const target = ground === "2";
    if (cell === player) return target ? "player on target" : "player";
    if (boxes.includes(cell)) return target ? "box on target" : "box";
    if (target) return "target";
    if (notation === "coordinates") return "unknown";
    return ground === "0" ? "wall" : "floor";
  });

const configs = {
  plain: { num_boxes: 1 },
  "another vocabulary": { num_boxes: 1, grid_lookup: { 0: "W", 1: ".", 2: "G", 3: "C", 4: "B", 5: "A", 6: "@" } },
  "swapped symbols": { num_boxes: 2, dim_room: [7, 9], grid_lookup: { 2: "X", 4: "O" } },
  "symbols beyond the first plane": { num_boxes: 1, grid_lookup: { 0: "🧱", 5: "🙂" } },
  "a room by its sides": { num_boxes: 2, dim_x: 8, dim_y: 6 },
};

const draw = (env_config: Readonly<Record<string, unknown>>, text: string) =>
  drawingOf({ env_type: "sokoban", env_config }, text);

describe("a drawing of Sokoban", () => {
  it.each(Object.entries(configs))("has every cell of the state: %s", (_, keys) => {
    const states = (["grid", "grid_coord", "coord"] as const).flatMap((observation_format) =>
      statesOf(Sokoban, { ...keys, observation_format }, { seeds: 8, actions: 12 }),
    );
    expect(states.length).toBeGreaterThan(100);
    for (const { compact, env_config, full, state } of states) {
      const notation = env_config.observation_format === "coord" ? "coordinates" : "all";
      for (const text of [full, compact]) {
        expect(draw(env_config, text)).toMatchObject({ kind: "sokoban", cells: cellsOf(state, notation) });
      }
    }
  });

  it("reads a standard symbol for each cell code of the environment", () => {
    const { grid_lookup } = Schema.decodeUnknownSync(SokobanConfig)({ num_boxes: 1 });
    const ours = Object.fromEntries(Object.entries(codes).map(([code, [glyph]]) => [code, glyph]));
    expect(ours).toEqual(grid_lookup);
    const words = Object.fromEntries(Object.entries(codes).map(([code, [, cell]]) => [code, cell]));
    expect(words).toEqual({ ...meanings, 1: "floor" });
  });

  it.each([
    ["no player", "#####\n#XO_#\n#####"],
    ["two players", "#####\n#PXO#\n#P__#\n#####"],
    ["more boxes than targets", "#####\n#PXX#\n#O__#\n#####"],
    ["no box", "#####\n#P__#\n#####"],
    ["a hole in the wall", "#####\n_PXO#\n#####"],
    ["rows of unequal length", "#####\n#PXO#\n####"],
    ["a symbol of no meaning", "#####\n#PXO#\n#?__#\n#####"],
    ["no text", ""],
    ["prose", "The player is next to the box."],
    [
      "coordinates beyond the board",
      "Board size: 3 rows x 5 cols (zero-indexed).\nTargets: (1, 9)\nBoxes: (1, 2)\nPlayer: (1, 1)",
    ],
    [
      "two things on one cell",
      "Board size: 3 rows x 5 cols (zero-indexed).\nTargets: (1, 3)\nBoxes: (1, 2)\nPlayer: (1, 2)",
    ],
    [
      "coordinates that do not agree with the grid",
      "Coordinates: \nBoard size: 3 rows x 5 cols (zero-indexed).\nTargets: (1, 3)\nBoxes: (1, 1)\nPlayer: (1, 2)\nGrid Map: \n#####\n#PXO#\n#####",
    ],
  ])("is not made of a text with %s", (_, text) => {
    expect(draw({}, text)).toBeNull();
  });
});
