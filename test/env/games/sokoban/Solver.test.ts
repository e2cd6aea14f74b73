/** Plans are as short as those of a plain breadth-first search that knows no dead cells, and the reference rooms have theirs. */
import { describe, expect, it } from "vitest";
import { drawRoom } from "../../../../src/env/games/sokoban/Room.ts";
import { Sokoban } from "../../../../src/env/games/sokoban/Sokoban.ts";
import { type Puzzle, shortestSolution } from "../../../../src/env/games/sokoban/Solver.ts";
import { instanceOf } from "../../contract/players.ts";
import { configWith, room } from "./rooms.ts";

const plainLength = ({ boxes, cols, layout, player }: Puzzle): number | null => {
  let ring = [{ player, boxes }];
  const seen = new Set<string>();
  for (let length = 0; ring.length > 0; length++) {
    const next: typeof ring = [];
    for (const state of ring) {
      if (state.boxes.every((box) => layout[box] === "2")) return length;
      for (const offset of [-cols, cols, -1, 1]) {
        const to = state.player + offset;
        const beyond = to + offset;
        if (layout[to] === "0") continue;
        if (state.boxes.includes(to) && (layout[beyond] === "0" || state.boxes.includes(beyond))) continue;
        const moved = state.boxes.map((box) => (box === to ? beyond : box)).sort((a, b) => a - b);
        const key = `${to}:${moved.join()}`;
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ player: to, boxes: moved });
      }
    }
    ring = next;
  }
  return null;
};

describe("shortestSolution", () => {
  it.each([
    ["######/#O####/#__###/#X_###/#_P_##/######", ["Left", "Up", "Up"]],
    ["######/#____#/#_OX_#/#_#P_#/######/######", ["Right", "Up", "Left"]],
    ["######/######/#P####/#X__##/#O__##/######", ["Down"]],
  ])("solves the reference room %s", (drawing, plan) => {
    expect(Sokoban.solve!(configWith(), room(drawing).state)).toEqual(plan);
  });

  it.each([1, 2, 3])("is as short as plain search, %i boxes", (boxes) => {
    const config = configWith({ num_boxes: boxes, search_depth: 20 });
    for (let seed = 0; seed < 25; seed++) {
      const { boxes: cells, layout, player } = drawRoom(config, instanceOf(seed));
      const puzzle = { cols: 6, layout, player, boxes: cells };
      expect(shortestSolution(puzzle)?.length ?? null).toBe(plainLength(puzzle));
    }
  });

  it("is empty when every box is on a target", () => {
    expect(Sokoban.solve!(configWith(), room("#####/#√_P#/#####").state)).toEqual([]);
  });

  it("is null for a box in a corner", () => {
    const { cols, state } = room("#####/#X_P#/#__O#/#####");
    expect(shortestSolution({ cols, ...state })).toBeNull();
  });
});
