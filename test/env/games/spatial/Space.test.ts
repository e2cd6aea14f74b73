/** The integer arithmetic of directions and distances against angles and square roots, over all cells near by. */
import { describe, expect, it } from "vitest";
import {
  bearing,
  cardinal,
  distance,
  egoDirection,
  type Facing,
  facings,
  facingTo,
  isInView,
  relativeFacing,
  rotateFacing,
} from "../../../../src/env/games/spatial/Space.ts";
import { angle, cardinalWord, distanceWord, egoWord, isSeen } from "./oracle.ts";

const from = { x: 3, y: -2 };
const cells = Array.from({ length: 41 * 41 }, (_, at) => ({
  x: from.x + (at % 41) - 20,
  y: from.y + Math.floor(at / 41) - 20,
})).filter(({ x, y }) => x !== from.x || y !== from.y);

describe.each(facings)("facing %i", (facing) => {
  const pose = { ...from, facing };

  it.each([90, 180] as const)("sees exactly what lies within %i degrees", (view) => {
    expect(cells.filter((cell) => isInView(pose, cell, view) !== isSeen(pose, cell, view))).toEqual([]);
    expect(isInView(pose, from, view)).toBe(false);
  });

  it("names directions in view as the angles say", () => {
    const seen = cells.filter((cell) => isInView(pose, cell, 180));
    expect(seen.length).toBeGreaterThan(800);
    expect(seen.filter((cell) => egoDirection(pose, cell) !== egoWord(pose, cell))).toEqual([]);
  });

  it("names the eight directions as the angles say, with its own facing for north", () => {
    expect(cells.filter((cell) => cardinal(from, cell, facing) !== cardinalWord(from, cell, facing))).toEqual([]);
  });

  it("measures bearings clockwise from where it faces", () => {
    for (const cell of cells)
      expect(Math.abs(bearing(pose, cell) - ((angle(pose, cell) + 360) % 360))).toBeLessThan(1e-9);
  });
});

describe("distances", () => {
  it("are named as their lengths say", () => {
    expect(cells.filter((cell) => distance(from, cell) !== distanceWord(from, cell))).toEqual([]);
  });

  it.each([
    [2, "near"],
    [3, "mid distance"],
    [4, "mid distance"],
    [8, "slightly far"],
    [16, "far"],
    [17, "very far"],
    [33, "extremely far"],
  ])("of %i cells are %s", (length, word) => {
    expect(distance(from, { x: from.x + length, y: from.y })).toBe(word);
  });
});

describe("facing a cell", () => {
  it("has it in a view of 90 degrees", () => {
    for (const cell of cells) expect(isInView({ ...from, facing: facingTo(from, cell) }, cell, 90)).toBe(true);
  });

  it("is relative: forward as the viewer does, backward towards it", () => {
    const thing = (facing: Facing) => ({ name: "sofa", x: 0, y: 0, facing });
    expect(facings.map((facing) => relativeFacing({ ...from, facing: 1 }, thing(facing)))).toEqual([
      "left",
      "forward",
      "right",
      "backward",
    ]);
    expect([rotateFacing(0, -1), rotateFacing(3, 2), rotateFacing(2, -7)]).toEqual([3, 1, 3]);
  });
});
