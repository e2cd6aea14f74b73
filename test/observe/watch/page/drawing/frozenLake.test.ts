/** Pictures of FrozenLake are the lakes that the environment plays. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { FrozenLake, type FrozenLakeState } from "../../../../../src/env/games/frozen_lake/FrozenLake.ts";
import { FrozenLakeConfig, meanings } from "../../../../../src/env/games/frozen_lake/FrozenLakeConfig.ts";
import { codes } from "../../../../../src/observe/watch/page/drawing/frozenLake.ts";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { statesOf } from "./states.ts";

const cellsOf = ({ layout, player }: FrozenLakeState, notation: "grid" | "coordinates"): readonly string[] =>
  Array.from(layout, (ground, cell) => {
    if (ground === "H") return cell === player ? "player in hole" : "hole";
    if (ground === "G") return cell === player ? "player on goal" : "goal";
    if (cell === player) return "player";
    return ground === "S" && notation === "coordinates" ? "start" : "ice";
  });

const configs = {
  plain: {},
  "a large lake full of holes": { size: 7, p: 0.7 },
  "swapped symbols": { grid_lookup: { 0: "O", 1: ".", 2: "P" } },
};

const draw = (env_config: Readonly<Record<string, unknown>>, text: string) =>
  drawingOf({ env_type: "frozen_lake", env_config }, text);

describe("a drawing of FrozenLake", () => {
  it.each(Object.entries(configs))("has every cell of the state: %s", (_, keys) => {
    const states = (["grid", "grid_coord", "coord"] as const).flatMap((observation_format) =>
      statesOf(FrozenLake, { ...keys, observation_format }, { seeds: 20, actions: 10 }),
    );
    const ends = new Set(states.map(({ state }) => state.layout[state.player]));
    expect(ends).toEqual(new Set(["S", "F", "H", "G"]));
    for (const { compact, env_config, full, state } of states) {
      const { observation_format } = env_config;
      const fullNotation = observation_format === "grid" ? "grid" : "coordinates";
      const compactNotation = observation_format === "coord" ? "coordinates" : "grid";
      expect(draw(env_config, full)).toMatchObject({ kind: "frozen_lake", cells: cellsOf(state, fullNotation) });
      expect(draw(env_config, compact)).toMatchObject({ kind: "frozen_lake", cells: cellsOf(state, compactNotation) });
    }
  });

  it("reads a standard symbol for each cell code of the environment", () => {
    const { grid_lookup } = Schema.decodeUnknownSync(FrozenLakeConfig)({});
    const ours = Object.fromEntries(Object.entries(codes).map(([code, [glyph]]) => [code, glyph]));
    expect(ours).toEqual(grid_lookup);
    const words = Object.fromEntries(Object.entries(codes).map(([code, [, cell]]) => [code, cell]));
    expect(words).toEqual({ ...meanings, 1: "ice" });
  });

  it.each([
    ["no goal", "P__\n___\n___"],
    ["two goals", "PG_\nG__\n___"],
    ["no player", "G__\n___\n___"],
    ["a board that is not square", "PG_\n___"],
    [
      "a hole under the goal",
      "Board size: 2 rows x 2 cols (zero-indexed).\nStart: (0, 0)\nGoal: (0, 1)\nPlayer: (0, 0)\nHoles: (0, 1)",
    ],
    [
      "a player in a hole that is told nowhere",
      "Board size: 2 rows x 2 cols (zero-indexed).\nStart: (0, 0)\nGoal: (0, 1)\nPlayer in hole: (1, 1)",
    ],
  ])("is not made of a text with %s", (_, text) => {
    expect(draw({}, text)).toBeNull();
  });
});
