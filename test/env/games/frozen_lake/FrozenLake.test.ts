/** Slips, rewards, ends and observations of FrozenLake. */
import { describe, expect, it } from "vitest";
import { FrozenLake, type FrozenLakeState } from "../../../../src/env/games/frozen_lake/FrozenLake.ts";
import { FrozenLakeConfig } from "../../../../src/env/games/frozen_lake/FrozenLakeConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { noiseOf } from "../../contract/players.ts";
import { standardErrors } from "../statistics.ts";

const configWith = configsOf(FrozenLakeConfig);
const sure = configWith({ is_slippery: false });
const layout = "FFFHSFFGFFFFHFFF";
const at = (player: number): FrozenLakeState => ({ layout, player });

describe("a step", () => {
  it.each([
    ["Left", 4],
    ["Down", 9],
    ["Right", 6],
    ["Up", 1],
  ])("goes %s", (action, player) => {
    const { info, reward, state, terminated, truncated } = FrozenLake.step(sure, at(5), action, noiseOf(0, 0, 0));
    expect(state).toEqual(at(player));
    expect([reward, terminated, truncated]).toEqual([0, false, false]);
    expect(info).toEqual({ success: false, action_is_effective: true, action_is_valid: true });
  });

  it("has no effect at the edge", () => {
    expect(FrozenLake.step(sure, at(4), "Left", noiseOf(0, 0, 0)).info.action_is_effective).toBe(false);
  });

  it("gives 1 and ends on the goal", () => {
    expect(FrozenLake.step(sure, at(6), "Right", noiseOf(0, 0, 0))).toMatchObject({
      reward: 1,
      terminated: true,
      truncated: false,
      info: { success: true },
    });
  });

  it("gives nothing and ends in a hole", () => {
    expect(FrozenLake.step(sure, at(2), "Right", noiseOf(0, 0, 0))).toMatchObject({
      reward: 0,
      terminated: true,
      truncated: false,
      info: { success: false },
    });
  });

  it("goes as intended with success_rate and sideways equally else, never backwards", () => {
    const landed = Array.from(
      { length: 4000 },
      (_, member) =>
        FrozenLake.step(configWith({ success_rate: 0.7 }), at(5), "Right", noiseOf(1, member, 0)).state.player,
    );
    const share = (player: number) => landed.map((cell) => (cell === player ? 1 : 0));
    expect(standardErrors(share(6), 0.7, Infinity)).toBeLessThan(3.5);
    expect(standardErrors(share(1), 0.15, Infinity)).toBeLessThan(3.5);
    expect(standardErrors(share(9), 0.15, Infinity)).toBeLessThan(3.5);
    expect(landed).not.toContain(4);
  });

  it("never slips at success_rate 1", () => {
    for (let member = 0; member < 200; member++) {
      const { state } = FrozenLake.step(configWith({ success_rate: 1 }), at(5), "Up", noiseOf(1, member, 0));
      expect(state.player).toBe(1);
    }
  });

  it("slips by the episode's own stream: members of a group differ", () => {
    const landed = Array.from(
      { length: 16 },
      (_, member) => FrozenLake.step(configWith(), at(5), "Right", noiseOf(2, member, 0)).state.player,
    );
    expect(new Set(landed).size).toBeGreaterThan(1);
  });
});

describe("the observation", () => {
  it.each([
    ["the player on ice", 5, "___O\n_P_G\n____\nO___"],
    ["the start as empty", 6, "___O\n__PG\n____\nO___"],
    ["the player on the goal", 7, "___O\n___√\n____\nO___"],
    ["the player in a hole", 3, "___X\n___G\n____\nO___"],
  ])("shows %s", (_, player, shown) => {
    expect(FrozenLake.render(configWith(), at(player))).toBe(shown);
  });

  it.each([
    [5, "Player: (1, 1)"],
    [7, "Player on goal: (1, 3)"],
    [12, "Player in hole: (3, 0)"],
  ])("lists coordinates in the fixed order, player at %i", (player, line) => {
    expect(FrozenLake.render(configWith({ observation_format: "coord" }), at(player))).toBe(
      `Board size: 4 rows x 4 cols (zero-indexed).\nStart: (1, 0)\nGoal: (1, 3)\n${line}\nHoles: (0, 3), (3, 0)`,
    );
  });

  it("is both in grid_coord", () => {
    const text = FrozenLake.render(configWith({ observation_format: "grid_coord" }), at(5));
    expect(text.startsWith("Coordinates: \nBoard size: 4 rows")).toBe(true);
    expect(text.endsWith("\nGrid Map: \n___O\n_P_G\n____\nO___")).toBe(true);
  });

  it("is coordinates for a small model where it has no grid", () => {
    const config = configWith({ observation_format: "coord" });
    expect(FrozenLake.compact(config, at(5))).toBe(FrozenLake.render(config, at(5)));
  });

  it("is the bare rows for a small model", () => {
    const config = configWith({ observation_format: "grid_coord" });
    expect(FrozenLake.compact(config, at(5))).toBe("___O\n_P_G\n____\nO___");
  });
});

describe("the legend", () => {
  it("explains the configured symbols", () => {
    expect(FrozenLake.legend(configWith({ grid_lookup: { 2: "H" } }))).toBe(
      "The meaning of each symbol in the state is:\n" +
        "P: player, _: empty, H: hole, G: goal, X: player in hole, √: player on goal",
    );
  });

  it("gives the corner of a 4x4 lake as (3, 3)", () => {
    expect(FrozenLake.legend(configWith({ observation_format: "coord" }))).toContain("(3, 3)");
  });
});

describe("the solver", () => {
  it("walks around holes and has no plan where there is none", () => {
    expect(FrozenLake.solve!(configWith(), { layout: "SHFFFHFGFFFFFFFF", player: 0 })?.length).toBe(6);
    expect(FrozenLake.solve!(configWith(), at(12))).toBeNull();
    expect(FrozenLake.solve!(configWith(), at(7))).toEqual([]);
    expect(FrozenLake.solve!(configWith(), { layout: "SHFFHHFGFFFFFFFF", player: 0 })).toBeNull();
  });
});

describe("the thought", () => {
  it("names the free ways of the first two steps", () => {
    const start = { layout: "SHFFFFFGFFFFFFFF", player: 0 };
    const plan = FrozenLake.solve!(configWith(), start)!;
    expect(FrozenLake.thought!(configWith(), start, plan)).toBe(
      "player 0 0 goal 1 3 free Down then Down free Down Right Up then Right",
    );
  });

  it("says nothing of the step behind the last", () => {
    const start = { layout: "FFSHHFFGFFFFFFFF", player: 6 };
    expect(FrozenLake.thought!(configWith(), start, ["Right"])).toBe(
      "player 1 2 goal 1 3 free Left Down Right Up then Right",
    );
  });
});

describe("the content key", () => {
  it("is the map's, wherever the player stands", () => {
    expect(FrozenLake.contentKey(configWith(), at(5))).toBe(FrozenLake.contentKey(configWith(), at(6)));
    const other = { layout: "FFFHSFFGFFFFFHFF", player: 4 };
    expect(FrozenLake.contentKey(configWith(), other)).not.toBe(FrozenLake.contentKey(configWith(), at(4)));
  });
});
