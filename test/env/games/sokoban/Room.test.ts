/** Generated rooms have the reference's distribution (500 rooms of the reference generator) and are always solvable. */
import { describe, expect, it } from "vitest";
import { NoInstance } from "../../../../src/env/contract/NoInstance.ts";
import { drawRoom, ragenRoom } from "../../../../src/env/games/sokoban/Room.ts";
import { shortestSolution } from "../../../../src/env/games/sokoban/Solver.ts";
import { instanceOf } from "../../contract/players.ts";
import { mean, standardErrors } from "../statistics.ts";
import { configWith } from "./rooms.ts";

const reference = 500;
const config = configWith();
const rooms = Array.from({ length: 2000 }, (_, seed) => drawRoom(config, instanceOf(10_000 + seed)));
const solutions = rooms
  .map(({ boxes, layout, player }) => shortestSolution({ cols: 6, layout, player, boxes })?.length ?? Infinity)
  .sort((a, b) => a - b);

describe("rooms of 6x6 cells and one box", () => {
  it("have the mean displacement 2.12", () => {
    expect(
      standardErrors(
        rooms.map((room) => room.displacement),
        2.12,
        reference,
      ),
    ).toBeLessThan(3.5);
  });

  it("have 10.6 walkable cells", () => {
    const walkable = rooms.map(({ layout }) => [...layout].filter((cell) => cell !== "0").length);
    expect(standardErrors(walkable, 10.6, reference)).toBeLessThan(3.5);
  });

  it("are solved in 4.12 actions on average, 4 in the middle, 7 at the 90th percentile", () => {
    expect(standardErrors(solutions, 4.12, reference)).toBeLessThan(3.5);
    expect(solutions[rooms.length / 2]).toBe(4);
    expect(solutions[rooms.length * 0.9]).toBe(7);
  });

  it("are all solvable, 99.2 % of them within 10 actions", () => {
    expect(Number.isFinite(solutions.at(-1))).toBe(true);
    expect(
      standardErrors(
        solutions.map((length) => (length <= 10 ? 1 : 0)),
        0.992,
        reference,
      ),
    ).toBeLessThan(3.5);
  });

  it("have the same distribution when the reverse play is 30 deep", () => {
    const shallow = Array.from({ length: 1000 }, (_, seed) =>
      drawRoom(configWith({ search_depth: 30 }), instanceOf(10_000 + seed)),
    );
    expect(
      standardErrors(
        shallow.map((room) => room.displacement),
        2.12,
        reference,
      ),
    ).toBeLessThan(3.5);
  });

  it("leave the outer ring walled, one target, and boxes and player on the floor off it", () => {
    for (const { boxes, layout, player } of rooms) {
      const ring = [...layout].filter((_, cell) => cell < 6 || cell >= 30 || cell % 6 === 0 || cell % 6 === 5);
      expect(ring.every((cell) => cell === "0")).toBe(true);
      expect([...layout].filter((cell) => cell === "2").length).toBe(1);
      expect(boxes.map((box) => layout[box])).toEqual(["1"]);
      expect(layout[player] === "0" || boxes.includes(player)).toBe(false);
    }
  });
});

describe("rooms with min_solution_steps", () => {
  it.each([
    [1, 3],
    [6, 8],
  ] as const)("are solved in %d to %d moves, and differ", (fewest, most) => {
    const ranged = configWith({ min_solution_steps: [fewest, most] });
    const drawn = Array.from({ length: 60 }, (_, seed) => drawRoom(ranged, instanceOf(seed)));
    const lengths = drawn.map(
      ({ boxes, layout, player }) => shortestSolution({ cols: 6, layout, player, boxes })!.length,
    );
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(fewest);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(most);
    expect(new Set(drawn.map(({ layout }) => layout)).size).toBeGreaterThan(40);
  });

  it("are given up after max_reset_tries", () => {
    const never = configWith({ min_solution_steps: [900, 1_000], max_reset_tries: 5 });
    expect(() => drawRoom(never, instanceOf(1))).toThrow("in 5 draws");
  });

  it("are of any length after max_reset_tries where they are RAGEN's", () => {
    const never = configWith({ instances: "ragen", min_solution_steps: [900, 1_000], max_reset_tries: 2 });
    expect(ragenRoom(never, 10_000).moves).toBeLessThan(900);
  });
});

describe("larger rooms", () => {
  it("of 8x8 cells and two boxes are displaced by 3.36 and solvable", () => {
    const large = configWith({ dim_room: [8, 8], num_boxes: 2, search_depth: 10 });
    const drawn = Array.from({ length: 300 }, (_, seed) => drawRoom(large, instanceOf(seed)));
    expect(
      standardErrors(
        drawn.map((room) => room.displacement),
        3.36,
        177,
      ),
    ).toBeLessThan(3.5);
    const lengths = drawn.map(
      ({ boxes, layout, player }) => shortestSolution({ cols: 8, layout, player, boxes })?.length,
    );
    expect(mean(lengths.map((length) => (length === undefined ? 0 : 1)))).toBe(1);
  });

  it("need not be square: dim_x rows by dim_y columns", () => {
    const { layout } = drawRoom(configWith({ dim_x: 5, dim_y: 9 }), instanceOf(1));
    expect(layout.length).toBe(45);
    expect(layout.slice(0, 9)).toBe("000000000");
    expect(layout.slice(36)).toBe("000000000");
  });

  it("that no draw can fill are refused in bounded time", () => {
    // Two levels of reverse play drag one box at most, so two boxes never both leave their targets.
    const shallow = configWith({ num_boxes: 2, search_depth: 3 });
    expect(() => drawRoom(shallow, instanceOf(1))).toThrow(NoInstance);
  });
});
