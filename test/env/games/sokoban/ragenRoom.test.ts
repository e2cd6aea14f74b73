/** Under `instances: ragen` a seed stands for the room RAGEN's generator makes under it. */
import { describe, expect, it } from "vitest";
import { NoInstance } from "../../../../src/env/contract/NoInstance.ts";
import { ragenRoom } from "../../../../src/env/games/sokoban/Room.ts";
import { Sokoban } from "../../../../src/env/games/sokoban/Sokoban.ts";
import type { SokobanConfig } from "../../../../src/env/games/sokoban/SokobanConfig.ts";
import { instanceOf } from "../../contract/players.ts";
import { ragen } from "../ragen.ts";
import { configWith } from "./rooms.ts";

const drawing = (config: SokobanConfig, seed: number): string =>
  Sokoban.render(config, Sokoban.reset(config, instanceOf(seed), "train")).replaceAll("\n", "/");

describe("RAGEN's rooms", () => {
  it.each([
    [10_000, "######/#O####/#__###/#X_###/#_P_##/######", ["Left", "Up", "Up"]],
    [10_001, "######/#____#/#_OX_#/#_#P_#/######/######", ["Right", "Up", "Left"]],
    [10_002, "######/######/#P####/#X__##/#O__##/######", ["Down"]],
  ])("under seed %d are as the reference gives them, with its solution", (seed, expected, solution) => {
    const config = configWith({ instances: "ragen" });
    expect(drawing(config, seed)).toBe(expected);
    expect(Sokoban.solve?.(config, Sokoban.reset(config, instanceOf(seed), "train"))).toEqual(solution);
  });

  it.each(ragen.sokoban)("are RAGEN's own under $env_config from seed $first", ({ env_config, first, instances }) => {
    const config = configWith({ ...env_config, instances: "ragen" });
    expect(instances.map((_, at) => drawing(config, first + at))).toEqual(instances);
  });

  it("were reached by another seed where the first gave none, as 23 of 200 larger rooms were", () => {
    const larger = ragen.sokoban.find(({ env_config }) => env_config.num_boxes === 2 && env_config.search_depth === 10);
    expect(larger?.reseeded.length).toBe(23);
  });

  it("are given up in bounded time where there is none", () => {
    expect(() => ragenRoom(configWith({ num_boxes: 2, search_depth: 3 }), 1)).toThrow(NoInstance);
  });

  it("differ from our own", () => {
    expect(drawing(configWith(), 10_000)).not.toBe(drawing(configWith({ instances: "ragen" }), 10_000));
  });
});
