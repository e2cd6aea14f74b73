/** Maps have the reference's distribution (1000 maps of the reference formulas) and a path past the holes. */
import { describe, expect, it } from "vitest";
import { NoInstance } from "../../../../src/env/contract/NoInstance.ts";
import { FrozenLakeConfig } from "../../../../src/env/games/frozen_lake/FrozenLakeConfig.ts";
import { drawMap, neighbour, shortestWalk } from "../../../../src/env/games/frozen_lake/FrozenLakeMap.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, playRandomly } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";
import { chiSquare, standardErrors } from "../statistics.ts";

const reference = 1000;
const configWith = configsOf(FrozenLakeConfig);
const config = configWith();
const layouts = Array.from({ length: 4000 }, (_, seed) => drawMap(config, instanceOf(10_000 + seed)));
const walks = layouts.map((layout) => shortestWalk(4, layout, layout.indexOf("S"))!);

describe("maps of 4x4 cells, 90 % frozen", () => {
  it("have 1.36 holes on average", () => {
    const holes = layouts.map((layout) => [...layout].filter((cell) => cell === "H").length);
    expect(standardErrors(holes, 1.36, reference)).toBeLessThan(3.5);
  });

  it("have a mean shortest path of 2.79", () => {
    expect(
      standardErrors(
        walks.map((walk) => walk.length),
        2.79,
        reference,
      ),
    ).toBeLessThan(3.5);
  });

  it("have the reference's histogram of shortest paths", () => {
    const histogram = [1, 2, 3, 4, 5, 6, 7].map(
      (length) => walks.filter((walk) => Math.min(walk.length, 7) === length).length,
    );
    // 24.3 is the 99.95th percentile at 6 degrees of freedom.
    expect(chiSquare(histogram, [188, 275, 243, 184, 81, 26, 3])).toBeLessThan(24.3);
  });

  it("have one start and one goal, anywhere", () => {
    for (const layout of layouts) expect(layout).toMatch(/^(?=.*S)(?=.*G)(?!.*S.*S)(?!.*G.*G)[SGFH]{16}$/);
    expect(new Set(layouts.map((layout) => layout.indexOf("S"))).size).toBe(16);
    expect(new Set(layouts.map((layout) => layout.indexOf("G"))).size).toBe(16);
  });

  it("are won by random play without slips in 25.6 % of the episodes of ten actions", () => {
    const environment = preset("FrozenLake", { is_slippery: false });
    const wins = Array.from({ length: 4000 }, (_, seed) =>
      playRandomly(environment, 10_000 + seed, 0, 10).success ? 1 : 0,
    );
    expect(standardErrors(wins, 0.256, reference)).toBeLessThan(3.5);
  });
});

describe("other maps", () => {
  it("follow size and p", () => {
    const wide = configWith({ size: 8, p: 1 });
    expect(drawMap(wide, instanceOf(1))).toMatch(/^[SGF]{64}$/);
    const holes = Array.from({ length: 300 }, (_, seed) =>
      [...drawMap(configWith({ p: 0.6 }), instanceOf(seed))].filter((cell) => cell === "H"),
    );
    expect(
      standardErrors(
        holes.map(({ length }) => length),
        1.36,
        reference,
      ),
    ).toBeGreaterThan(10);
  });

  it("of nothing but holes put the goal next to the start", () => {
    const sparse = configWith({ size: 16, p: 0 });
    const layout = drawMap(sparse, instanceOf(1));
    expect(shortestWalk(16, layout, layout.indexOf("S"))?.length).toBe(1);
  });

  it("are given up in bounded time when no draw is playable", () => {
    const empty = {
      uint32: () => 0,
      uniform: () => 0,
      int: () => 0,
      normal: () => 0,
      pick: <A>(items: readonly A[]) => items[0]!,
      shuffle: <A>(items: readonly A[]) => [...items],
    };
    expect(() => drawMap(config, empty)).toThrow(NoInstance);
  });
});

describe("neighbour", () => {
  it("keeps the position at the four edges", () => {
    expect([0, 1, 2, 3].map((direction) => neighbour(4, 5, direction))).toEqual([4, 9, 6, 1]);
    expect([0, 3].map((direction) => neighbour(4, 0, direction))).toEqual([0, 0]);
    expect([1, 2].map((direction) => neighbour(4, 15, direction))).toEqual([15, 15]);
    expect([0, 2].map((direction) => neighbour(4, 7, direction))).toEqual([6, 7]);
  });
});
