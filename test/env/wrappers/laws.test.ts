/** Laws of composition that hold for wrappers around every environment, seed and action, of both kinds. */
import { describe, expect, it } from "vitest";
import { remote } from "../asynchronous/remote.ts";
import { preset } from "../contract/presets.ts";
import { answer } from "../games/countdown/answers.ts";
import { actInside, seen, wrapped } from "./wrapped.ts";

type List = readonly Readonly<Record<string, unknown>>[];

const lake = preset("FrozenLake");
const sokoban = preset("SimpleSokoban", { max_steps: 8 });
const countdown = preset("Countdown");
const subjects = [
  { name: "FrozenLake", environment: lake, act: null },
  { name: "SimpleSokoban", environment: sokoban, act: null },
  { name: "Bandit", environment: preset("Bandit"), act: null },
  { name: "Countdown", environment: countdown, act: answer },
] as const;

const limit = (max_steps: number) => ({ type: "time_limit", max_steps });
const shaped = (keys: object) => ({ type: "reward_shaping", ...keys });
const filter = (keys: object) => ({ type: "action_filter", ...keys });
const rewrite = (...replacements: readonly object[]) => ({
  type: "observation_rewrite",
  replacements,
  on: ["render", "compact", "legend"],
});
const swap = (pattern: string, replacement: string) => ({ pattern, replacement });

/** Expects two lists of wrappers to be the same around every environment. */
const same = async (one: List, two: List, among: readonly (typeof subjects)[number][] = subjects): Promise<void> => {
  for (const { act, environment } of among) {
    for (let seed = 0; seed < 4; seed++) {
      const [first, second] = await Promise.all(
        [one, two].map((list) =>
          seen(wrapped(environment, ...list), seed, 10, act === null ? undefined : actInside(act, list.length)),
        ),
      );
      expect(first).toEqual(second);
    }
  }
};

describe("wrappers that change nothing", () => {
  it.each([
    [[limit(1_000_000)]],
    [[shaped({})]],
    [[shaped({ clip_low: -1e9, clip_high: 1e9 })]],
    [[filter({})]],
    [[filter({ deny: ["Fly", "up and away"] })]],
    [[rewrite()]],
    [[rewrite(swap("nowhere in any text", "x"))]],
    [[shaped({ scale: 2 }), filter({}), limit(1000), rewrite(), shaped({ scale: 0.5 })]],
  ])("%j are no wrapper", async (list) => {
    await same(list, []);
  });
});

describe("wrappers on wrappers", () => {
  it.each([
    ["the shorter of two time limits holds", [limit(3), limit(5)], [limit(3)]],
    ["in either order", [limit(5), limit(3)], [limit(3)]],
    ["scales multiply", [shaped({ scale: 4 }), shaped({ scale: -0.5 })], [shaped({ scale: -2 })]],
    ["offsets add up", [shaped({ offset: 0.5 }), shaped({ offset: 0.25 })], [shaped({ offset: 0.75 })]],
    ["bonuses add up", [shaped({ success_bonus: 1 }), shaped({ success_bonus: 2 })], [shaped({ success_bonus: 3 })]],
    [
      "the narrower of nested clips holds",
      [shaped({ clip_low: -2, clip_high: 2 }), shaped({ clip_low: -0.05, clip_high: 0.5 })],
      [shaped({ clip_low: -0.05, clip_high: 0.5 })],
    ],
    [
      "what is denied twice over is denied at once",
      [filter({ deny: ["Up"] }), filter({ deny: ["left"] })],
      [filter({ deny: ["UP", "Left"] })],
    ],
    [
      "what is allowed twice over is what both allow",
      [filter({ allow: ["Up", "Left"] }), filter({ allow: ["Left", "Down"] })],
      [filter({ allow: ["Left"] })],
    ],
    [
      "replacements go on from one list to the next",
      [rewrite(swap("_", "a")), rewrite(swap("a", "b"), swap("P", "Q"))],
      [rewrite(swap("_", "a"), swap("a", "b"), swap("P", "Q"))],
    ],
    [
      "what is shown and what is counted do not touch",
      [rewrite(swap("#", "wall")), limit(4), shaped({ scale: 3 })],
      [shaped({ scale: 3 }), rewrite(swap("#", "wall")), limit(4)],
    ],
    [
      "what may be done and what it earns do not touch",
      [filter({ deny: ["Up"] }), shaped({ offset: 1 })],
      [shaped({ offset: 1 }), filter({ deny: ["Up"] })],
    ],
  ] satisfies readonly (readonly [string, List, List])[])("%s", async (_, one, two) => {
    // A filter of directions leaves other environments without any action, and what free text it refuses earns nothing: there the
    // order of filter and shaping does count.
    const walks = two.some(({ type }) => type === "action_filter");
    await same(one, two, walks ? subjects.slice(0, 2) : subjects);
  });

  it("are what wrapping again gives: a list cut anywhere is the same list", async () => {
    const list = [limit(6), shaped({ scale: 2, offset: -0.1 }), filter({ deny: ["Down"] }), rewrite(swap("P", "me"))];
    for (let cut = 0; cut <= list.length; cut++) {
      const inner = wrapped(sokoban, ...list.slice(0, cut));
      const whole = wrapped(sokoban, ...list);
      for (let seed = 0; seed < 6; seed++) {
        expect(await seen(wrapped(inner, ...list.slice(cut)), seed, 10)).toEqual(await seen(whole, seed, 10));
      }
    }
  });

  it.each(["SimpleSokoban", "rubikscube"])("limit the time of %s as its own limit does, its plans too", async (tag) => {
    // The cube's observation shows its own limit.
    const bare = (keys: Readonly<Record<string, unknown>>) => {
      const environment = preset(tag, keys);
      return { ...environment, render: environment.compact };
    };
    for (const max_steps of [1, 3, 6]) {
      for (let seed = 0; seed < 6; seed++) {
        const limited = await seen(wrapped(bare({}), limit(max_steps)), seed, 10);
        expect(limited).toEqual(await seen(bare({ max_steps }), seed, 10));
      }
    }
  });

  it("change an environment that waits as they change its pure twin", async () => {
    const list = [limit(6), shaped({ scale: 2, offset: -0.1 }), filter({ deny: ["Down"] }), rewrite(swap("P", "me"))];
    const { environment, side } = remote(wrapped(sokoban));
    const pure = wrapped({ ...sokoban, solve: null }, ...list);
    for (let seed = 0; seed < 6; seed++) {
      expect(await seen(wrapped(environment, ...list), seed, 10)).toEqual(await seen(pure, seed, 10));
    }
    expect(side).toMatchObject({ opened: 6, twice: 0 });
    expect(side.open.size).toBe(0);
    expect(wrapped(environment, ...list)).toMatchObject({ capacity: 8, timeoutMs: 1000 });
  });
});
