/** Under `instances: ragen` a seed stands for the map RAGEN's generator makes under it. */
import { describe, expect, it } from "vitest";
import { FrozenLake } from "../../../../src/env/games/frozen_lake/FrozenLake.ts";
import { FrozenLakeConfig } from "../../../../src/env/games/frozen_lake/FrozenLakeConfig.ts";
import { shortestWalk } from "../../../../src/env/games/frozen_lake/FrozenLakeMap.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf } from "../../contract/players.ts";
import { ragen } from "../ragen.ts";
import { mean } from "../statistics.ts";

const configWith = configsOf(FrozenLakeConfig, { instances: "ragen" });

const layoutOf = (config: FrozenLakeConfig, seed: number): string =>
  FrozenLake.reset(config, instanceOf(seed), "train").layout;

/** Rows joined by "/". */
const drawing = (config: FrozenLakeConfig, seed: number): string =>
  layoutOf(config, seed)
    .match(new RegExp(`.{${config.size}}`, "g"))!
    .join("/");

describe("RAGEN's maps", () => {
  it.each([
    [10_000, "FFFF/FFFF/FFFF/GSFF"],
    [10_001, "FGFF/FFFH/SFHF/FFFF"],
    [10_002, "FSFF/GFFF/FFHF/HFFF"],
  ])("under seed %d are as the reference gives them", (seed, expected) => {
    expect(drawing(configWith(), seed)).toBe(expected);
  });

  it.each(ragen.frozen_lake)(
    "are RAGEN's own under $env_config from seed $first",
    ({ env_config, first, instances }) => {
      const config = configWith(env_config);
      expect(instances.map((_, at) => drawing(config, first + at))).toEqual(instances);
    },
  );

  it("have the reference's 1.36 holes (1355 in all) and shortest walks over 1000 seeds, exactly", () => {
    const layouts = Array.from({ length: 1000 }, (_, at) => layoutOf(configWith(), 10_000 + at));
    const holes = mean(layouts.map((layout) => [...layout].filter((cell) => cell === "H").length));
    expect(holes).toBeCloseTo(1.355, 9);
    const walks = layouts.map((layout) => shortestWalk(4, layout, layout.indexOf("S"))!.length);
    const counts = [1, 2, 3, 4, 5, 6].map((length) => walks.filter((walk) => walk === length).length);
    expect(counts).toEqual([188, 275, 243, 184, 81, 26]);
    expect(walks.filter((walk) => walk > 6).length).toBe(3);
  });
});
