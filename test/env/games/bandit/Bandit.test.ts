/** Names, order, payouts and texts of Bandit. */
import { describe, expect, it } from "vitest";
import type { Split } from "../../../../src/env/contract/Environment.ts";
import { armNames } from "../../../../src/env/games/bandit/armNames.ts";
import { Bandit, type BanditState } from "../../../../src/env/games/bandit/Bandit.ts";
import { BanditConfig } from "../../../../src/env/games/bandit/BanditConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf, playRandomly } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";
import { standardErrors } from "../statistics.ts";

const configWith = configsOf(BanditConfig);
const config = configWith();
const state: BanditState = { arms: ["Teacher", "Trader"], risky: 1, pull: null };
const named = (key: keyof typeof armNames): Set<string> => new Set(armNames[key].flat());
const drawn = (keys: BanditConfig, split: Split): Set<string> =>
  new Set(Array.from({ length: 300 }, (_, seed) => Bandit.reset(keys, instanceOf(seed), split).arms).flat());

describe("the arms", () => {
  it("share no name between the splits", () => {
    expect([...named("train")].filter((name) => named("test").has(name))).toEqual([]);
    expect([named("train").size, named("test").size]).toEqual([24, 16]);
  });

  it("are those of the configured split", () => {
    expect(drawn(config, "train")).toEqual(named("train"));
    expect(drawn(config, "val")).toEqual(named("train"));
    expect(drawn(configWith({ split: "test" }), "train")).toEqual(named("test"));
  });

  it("follow the instance's split when it is auto", () => {
    expect(drawn(configWith({ split: "auto" }), "train")).toEqual(named("train"));
    expect(drawn(configWith({ split: "auto" }), "val")).toEqual(named("test"));
  });

  it("are shown in either order equally often", () => {
    const first = Array.from({ length: 2000 }, (_, seed) => Bandit.reset(config, instanceOf(seed), "train").risky);
    expect(standardErrors(first, 0.5, Infinity)).toBeLessThan(3.5);
  });

  it("pair a low-risk with a high-risk name", () => {
    for (let seed = 0; seed < 100; seed++) {
      const { arms, risky } = Bandit.reset(config, instanceOf(seed), "train");
      expect(armNames.train).toContainEqual([arms[1 - risky], arms[risky]]);
    }
  });
});

describe("a pull", () => {
  it("of the low-risk arm always pays 0.1 and is no success", () => {
    for (let member = 0; member < 50; member++) {
      const { info, reward, terminated } = Bandit.step(config, state, "Teacher", noiseOf(1, member, 0));
      expect([reward, info.success, terminated]).toEqual([0.1, false, true]);
    }
  });

  it("of the high-risk arm pays 1 with probability 0.25, else 0, and is a success either way", () => {
    const pulls = Array.from({ length: 4000 }, (_, member) =>
      Bandit.step(config, state, "Trader", noiseOf(1, member, 0)),
    );
    const rewards = pulls.map(({ reward }) => reward);
    expect(new Set(rewards)).toEqual(new Set([0, 1]));
    expect(standardErrors(rewards, 0.25, Infinity)).toBeLessThan(3.5);
    expect(pulls.every(({ info }) => info.success)).toBe(true);
  });

  it("at random succeeds half of the time and pays 0.175", () => {
    const episodes = Array.from({ length: 4000 }, (_, seed) => playRandomly(preset("Bandit"), seed, 0, 1));
    expect(
      standardErrors(
        episodes.map(({ success }) => (success ? 1 : 0)),
        0.5,
        Infinity,
      ),
    ).toBeLessThan(3.5);
    expect(
      standardErrors(
        episodes.map(({ reward }) => reward),
        0.175,
        Infinity,
      ),
    ).toBeLessThan(3.5);
  });
});

describe("the observation", () => {
  it("names both arms in order and both literal answers", () => {
    const text = Bandit.render(config, state);
    expect(text).toContain("called Teacher and Trader");
    expect(text).toContain("<answer> Teacher </answer> or <answer> Trader </answer>");
  });

  it.each([
    [{ arm: 0, reward: 0.1 }, "Teacher: 0.1 points"],
    [{ arm: 1, reward: 1 }, "Trader: 1.0 points"],
    [{ arm: 1, reward: 0 }, "Trader: 0.0 points"],
  ])("is the payout after the pull", (pull, text) => {
    expect(Bandit.render(config, { ...state, pull })).toBe(text);
  });

  it("is the two names for a small model", () => {
    expect(Bandit.compact(config, state)).toBe("Teacher\nTrader");
  });
});
