/** Rewards, new tiles, ends and texts of 2048. */
import { describe, expect, it } from "vitest";
import type { Cells } from "../../../../src/env/games/game_2048/Board.ts";
import { Game2048, type Game2048State } from "../../../../src/env/games/game_2048/Game2048.ts";
import { Game2048Config } from "../../../../src/env/games/game_2048/Game2048Config.ts";
import { mapActions } from "../../../../src/rollout/actions.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { standardErrors } from "../statistics.ts";

const configWith = configsOf(Game2048Config);
const standard = configWith();
const at = (cells: Cells, score = 0): Game2048State => ({ cells, score });
const moved = (cells: Cells, action: string, config = standard, score = 0) =>
  Game2048.step(config, at(cells, score), action, noiseOf(0, 0, 0));

const pair: Cells = [0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 2];
const corner: Cells = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/** One move from its end: only the two equal tiles of the last row can merge, and then nothing else. */
const last: Cells = [1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 5, 7, 10, 10];

describe("a move", () => {
  it("scores the tiles it makes and earns a tenth of their logarithm", () => {
    const { info, reward, state, terminated, truncated } = moved(pair, "Left", standard, 100);
    expect(state.score).toBe(112);
    expect(info).toMatchObject({ success: false, action_is_effective: true, action_is_valid: true });
    expect(info).toMatchObject({ raw_reward: 12, final_score: 112, final_max_tile: 8 });
    expect(reward).toBeCloseTo(0.1 * Math.log2(13), 12);
    expect([terminated, truncated]).toEqual([false, false]);
  });

  it("earns nothing where nothing merges", () => {
    expect(moved(corner, "Right")).toMatchObject({ reward: 0, info: { raw_reward: 0, action_is_valid: true } });
  });

  it("brings one new tile, on a cell that was empty", () => {
    for (let member = 0; member < 50; member++) {
      const { state } = Game2048.step(standard, at(corner), "Down", noiseOf(1, member, 0));
      expect(state.cells[12]).toBe(1);
      const others = state.cells.toSpliced(12, 1).filter((exponent) => exponent > 0);
      expect(others.length).toBe(1);
      expect([1, 2]).toContain(others[0]);
    }
  });

  it("that moves nothing brings none, earns nothing and is not valid", () => {
    const transition = moved(corner, "Up");
    expect(transition.state).toEqual(at(corner));
    expect(transition).toMatchObject({ reward: 0, terminated: false });
    expect(transition.info).toMatchObject({ raw_reward: -0.1, action_is_effective: false, action_is_valid: false });
  });

  it("pays its points themselves without use_log_reward, and for moving nothing what is set", () => {
    const plain = configWith({ use_log_reward: false, invalid_act_score: -2 });
    expect(moved(pair, "Left", plain).reward).toBe(12);
    expect(moved(corner, "Left", plain).reward).toBe(-2);
    expect(moved(corner, "Right", plain).reward).toBe(0);
  });
});

describe("new tiles", () => {
  const landed = Array.from({ length: 3000 }, (_, member) =>
    Game2048.step(standard, at(corner), "Right", noiseOf(2, member, 0)).state.cells.with(3, 0),
  );

  it("are twos in 90 % of the cases, else fours", () => {
    const twos = landed.map((cells) => (cells.includes(1) ? 1 : 0));
    expect(standardErrors(twos, 0.9, Infinity)).toBeLessThan(3.5);
    expect(landed.every((cells) => cells.includes(1) || cells.includes(2))).toBe(true);
  });

  it("come anywhere alike", () => {
    for (const cell of [0, 1, 2, 4, 15]) {
      const hits = landed.map((cells) => (cells[cell]! > 0 ? 1 : 0));
      expect(standardErrors(hits, 1 / 15, Infinity)).toBeLessThan(3.5);
    }
  });

  it("come by the episode's own stream: members of a group differ", () => {
    expect(new Set(landed.slice(0, 16).map(String)).size).toBeGreaterThan(1);
  });
});

describe("a first board", () => {
  it("has two tiles", () => {
    for (let seed = 0; seed < 100; seed++) {
      const { cells, score } = Game2048.reset(standard, instanceOf(seed), "train");
      const tiles = cells.filter((exponent) => exponent > 0);
      expect([cells.length, tiles.length, score]).toEqual([16, 2, 0]);
      expect(tiles.every((exponent) => exponent <= 2)).toBe(true);
    }
  });

  it("follows its keys", () => {
    const config = configWith({ size: 3, two_prob: 0 });
    const { cells } = Game2048.reset(config, instanceOf(1), "train");
    expect(cells.toSorted()).toEqual([0, 0, 0, 0, 0, 0, 0, 2, 2]);
  });

  // As numpy's default_rng places and draws them, cell first.
  it.each([
    [10_000, "..1.\n....\n1...\n...."],
    [10_001, "....\n...1\n...1\n...."],
    [10_002, "....\n....\n.1..\n..1."],
    [10_003, "....\n.1..\n...2\n...."],
    [123, "1...\n....\n...1\n...."],
  ])("is RAGEN's under seed %i where that is asked for", (seed, board) => {
    const config = configWith({ instances: "ragen" });
    expect(Game2048.compact(config, Game2048.reset(config, instanceOf(seed), "train"))).toBe(board);
  });
});

describe("the end", () => {
  it("is where nothing moves any more, the new tile included", () => {
    const stuck = moved(last, "Left", configWith({ two_prob: 1 }));
    expect(stuck.state.cells).toEqual([1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 5, 7, 11, 1]);
    expect(stuck.terminated).toBe(true);
    const mergeable = moved(last, "Left", configWith({ two_prob: 0 }));
    expect(mergeable.state.cells.at(-1)).toBe(2);
    expect(mergeable.terminated).toBe(false);
  });

  it("is a success with the goal tile, and only then", () => {
    const ending = configWith({ two_prob: 1 });
    expect(moved(last, "Left", ending)).toMatchObject({
      terminated: true,
      info: { success: true, final_max_tile: 2048 },
    });
    expect(moved(last, "Left", configWith({ two_prob: 1, goal_tile: 4096 }))).toMatchObject({
      terminated: true,
      info: { success: false },
    });
  });

  it("does not come with the goal tile by itself", () => {
    const won = pair.with(12, 10).with(15, 10);
    expect(moved(won, "Left")).toMatchObject({ terminated: false, info: { success: false, final_max_tile: 2048 } });
    expect(moved(won, "Left", configWith({ stop_at_goal: true }))).toMatchObject({
      terminated: true,
      info: { success: true, final_max_tile: 2048 },
    });
  });

  it("lets nothing move after it, in a game that stopped at its goal too", () => {
    const won = moved(pair.with(12, 10).with(15, 10), "Left", configWith({ stop_at_goal: true })).state;
    const after = Game2048.step(configWith({ stop_at_goal: true }), won, "Up", noiseOf(3, 0, 0));
    expect(after).toMatchObject({ state: won, reward: 0, terminated: true });
    expect(after.info).toMatchObject({ success: true, raw_reward: 0, action_is_effective: false });
  });
});

describe("the texts", () => {
  it("show tiles, moves that move something, goal and score", () => {
    expect(Game2048.render(standard, at(corner.with(5, 11), 36))).toBe(
      [
        "Current 2048 Grid:",
        "Row 1: [2, 0, 0, 0]",
        "Row 2: [0, 2048, 0, 0]",
        "Row 3: [0, 0, 0, 0]",
        "Row 4: [0, 0, 0, 0]",
        "",
        "Valid Actions: Up, Right, Down, Left.",
        "Goal: merge equal tiles until one of them is 2048.",
        "Current Score: 36",
        "What is your next move?",
      ].join("\n"),
    );
    expect(Game2048.render(standard, at(corner))).toContain("Valid Actions: Right, Down.");
    expect(Game2048.render(standard, at([1, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 1, 2, 1]))).toContain("Actions: None.");
  });

  it("show one character a cell to a small model", () => {
    const cells: Cells = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17];
    expect(Game2048.compact(standard, at(cells))).toBe(".123\n4567\n89AB\nCDEH");
  });

  it("think of room and moves, then of the one to make", () => {
    expect(Game2048.thought!(standard, at(corner), ["Down"])).toBe("free 15 moves Right Down then go Down");
  });

  it("know an instance by its board", () => {
    const key = Game2048.contentKey(standard, at(corner));
    expect(Game2048.contentKey(standard, at(corner, 8))).toBe(key);
    expect(Game2048.contentKey(standard, at(corner.with(0, 2)))).not.toBe(key);
  });
});

describe("a reply", () => {
  it("names a move in any case; RAGEN's numbers are no names", () => {
    const legal = Game2048.actions(standard, at(corner));
    expect(mapActions(["dOWN"], legal, 700)).toMatchObject({ executable: ["Down"], penalised: false });
    expect(mapActions(["2"], legal, 700)).toMatchObject({ executable: [], penalised: true, invalid: true });
  });
});

describe("the keys", () => {
  it.each([
    [{ goal_tile: 1000 }, "goal_tile"],
    [{ goal_tile: 4 }, "goal_tile"],
    [{ size: 1 }, "size"],
    [{ two_prob: 2 }, "two_prob"],
  ])("refuse %j", (keys, path) => {
    expect(() => configWith(keys)).toThrow(`${path}: `);
  });
});
