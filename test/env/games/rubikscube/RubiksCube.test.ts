/** Rewards, ends, scrambles and observations of the 2x2 cube. */
import { Result, Schema } from "effect";
import { describe, expect, it } from "vitest";
import { distance } from "../../../../src/env/games/rubikscube/Corners.ts";
import { apply, solved, type Turn, turns, turnTables } from "../../../../src/env/games/rubikscube/Cube.ts";
import { RubiksCube, type RubiksCubeState } from "../../../../src/env/games/rubikscube/RubiksCube.ts";
import { RubiksCubeConfig } from "../../../../src/env/games/rubikscube/RubiksCubeConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf, playRandomly } from "../../contract/players.ts";
import { preset } from "../../contract/presets.ts";
import { standardErrors } from "../statistics.ts";

const configWith = configsOf(RubiksCubeConfig);
const turned = (...sequence: readonly Turn[]): string =>
  sequence.reduce((before, turn) => apply(before, turnTables.true[turn]), solved);
const step = (config: RubiksCubeConfig, state: RubiksCubeState, action: string) =>
  RubiksCube.step(config, state, action, noiseOf(0, 0, 0));

describe("a step", () => {
  it("gives 1 and ends on a solved cube", () => {
    expect(step(configWith(), { cube: turned("R"), steps: 0 }, "R'")).toEqual({
      state: { cube: solved, steps: 1 },
      reward: 1,
      terminated: true,
      truncated: false,
      info: { success: true, action_is_effective: true, action_is_valid: true },
    });
  });

  it("gives nothing elsewhere", () => {
    expect(step(configWith(), { cube: turned("R"), steps: 0 }, "U")).toMatchObject({
      reward: 0,
      terminated: false,
      truncated: false,
      info: { success: false, action_is_effective: true },
    });
  });

  it("takes a cube for solved however it is held", () => {
    expect(step(configWith(), { cube: turned("U"), steps: 0 }, "D'").info.success).toBe(true);
  });

  it("is cut after max_steps, unless the last turn solves", () => {
    const config = configWith({ max_steps: 3 });
    expect(step(config, { cube: turned("R"), steps: 2 }, "U")).toMatchObject({ terminated: false, truncated: true });
    expect(step(config, { cube: turned("R"), steps: 2 }, "R'")).toMatchObject({ terminated: true, truncated: false });
  });
});

describe("a scramble", () => {
  it.each([1, 2, 5, 8, 11])("of depth %i is exactly as far from solved", (scramble_depth) => {
    for (let seed = 0; seed < 6; seed++) {
      const { cube } = RubiksCube.reset(configWith({ scramble_depth }), instanceOf(seed), "train");
      expect(distance(cube)).toBe(scramble_depth);
    }
  });

  it("of depth 1 is each of the twelve turns", () => {
    const config = configWith({ scramble_depth: 1 });
    const cubes = Array.from({ length: 200 }, (_, seed) => RubiksCube.reset(config, instanceOf(seed), "train").cube);
    expect(new Set(cubes)).toEqual(new Set(turns.map((turn) => turned(turn))));
  });

  it.each([
    [
      1,
      10_000,
      ["WWWWBBOOOOGGGGRRRRBBYYYY", "GWGWOOOOYGYGRRRRBWBWBYBY", "OOWWYOYOGGGGRWRWBBBBYYRR", "WWWWOOGGGGRRRRBBBBOOYYYY"],
    ],
    [5, 123, ["OWOBWWOYBRGGYYWRBGBYRROG", "RBOBWYWYGRGOYYWWOBRBRGOG", "WWYGBOOGBORYYGWRRRBGYOWB"]],
    [20, 0, ["GBRWOBYYWGBRRRYOYOWWOGGB", "YOBWGROBYGOORGBBWRRYYWGW", "GGORWWYBBWBGBYOYRRGOOWYR"]],
  ])("of depth %i from seed %i is RAGEN's own under instances: ragen and its B", (scramble_depth, first, expected) => {
    const config = configWith({ instances: "ragen", back_turn: "ragen", scramble_depth });
    const drawn = expected.map((_, at) => RubiksCube.reset(config, instanceOf(first + at), "train").cube);
    expect(drawn).toEqual(expected);
  });

  it("of RAGEN's may cancel: two turns leave one cube in six solved", () => {
    const config = configWith({ instances: "ragen", scramble_depth: 2 });
    const cancelled = Array.from(
      { length: 1000 },
      (_, seed) => RubiksCube.reset(config, instanceOf(seed), "train").cube,
    ).map((cube) => (distance(cube) === 0 ? 1 : 0));
    // Its inverse, or the opposite face against it.
    expect(standardErrors(cancelled, 2 / 12, Infinity)).toBeLessThan(3.5);
  });

  it("that came out solved is no success before a turn brings it about", () => {
    const start = { cube: solved, steps: 0 };
    const config = configWith({ instances: "ragen" });
    const plan = RubiksCube.solve!(config, start)!;
    expect(plan.length).toBe(2);
    const first = step(config, start, plan[0]!);
    expect(first.terminated).toBe(false);
    expect(step(config, first.state, plan[1]!)).toMatchObject({ reward: 1, terminated: true });
  });

  it.each([
    [{ scramble_depth: 15 }, "scramble_depth"],
    [{ scramble_depth: 0 }, "scramble_depth"],
    [{ back_turn: "ragen" }, "back_turn"],
  ])("cannot be asked for by %j", (keys, path) => {
    const result = Schema.decodeUnknownResult(RubiksCubeConfig)(keys);
    expect(Result.isFailure(result) && result.failure.message).toContain(path);
  });
});

describe("the solver", () => {
  it("has no plan after the last turn, and an empty one for a solved cube", () => {
    expect(RubiksCube.solve!(configWith(), { cube: turned("R"), steps: 20 })).toBeNull();
    expect(RubiksCube.solve!(configWith(), { cube: solved, steps: 3 })).toEqual([]);
  });

  it("has a plan only where there are turns for it", () => {
    const planned = (max_steps: number) =>
      RubiksCube.solve!(configWith({ max_steps }), { cube: turned("R", "U"), steps: 1 });
    expect([planned(2), planned(3)]).toEqual([null, ["U'", "R'"]]);
    const lucky = { cube: solved, steps: 0 };
    expect(RubiksCube.solve!(configWith({ instances: "ragen", max_steps: 1 }), lucky)).toBeNull();
  });

  it("searches a few turns under RAGEN's B, and says where it finds nothing", () => {
    const config = configWith({ back_turn: "ragen", instances: "ragen" });
    const torn = (...sequence: readonly Turn[]): RubiksCubeState => ({
      cube: sequence.reduce((before, turn) => apply(before, turnTables.ragen[turn]), solved),
      steps: 0,
    });
    expect(RubiksCube.solve!(config, torn("D", "B", "R"))).toEqual(["R'", "B'", "U'"]);
    expect(RubiksCube.solve!(config, torn("B", "R", "D", "B", "U", "L", "B", "F"))).toBeNull();
  });
});

describe("random play", () => {
  it("solves the preset, one turn from solved, in about a fifth of its episodes of 20 turns", () => {
    const environment = preset("rubikscube");
    const wins = Array.from({ length: 1000 }, (_, seed) => (playRandomly(environment, seed, 0, 20).success ? 1 : 0));
    // 0.208 in 20 000 episodes of independent draws.
    expect(standardErrors(wins, 0.208, 20_000)).toBeLessThan(3.5);
  });
});

describe("the observation", () => {
  it("shows six faces of two rows, the step and the actions", () => {
    expect(RubiksCube.render(configWith(), { cube: turned("R"), steps: 3 })).toBe(
      [
        "=== Rubik's Cube 2x2 ===",
        "Step: 3/20",
        "",
        "Up (U):    [W, G]",
        "           [W, G]",
        "Left (L):  [O, O]",
        "           [O, O]",
        "Front (F): [G, Y]",
        "           [G, Y]",
        "Right (R): [R, R]",
        "           [R, R]",
        "Back (B):  [W, B]",
        "           [W, B]",
        "Down (D):  [Y, B]",
        "           [Y, B]",
        "",
        "Actions: U, U', D, D', L, L', R, R', F, F', B, B'",
      ].join("\n"),
    );
  });

  it("says how it ended", () => {
    expect(RubiksCube.render(configWith(), { cube: solved, steps: 3 })).toMatch(
      /Solved: every face shows one colour\.$/,
    );
    expect(RubiksCube.render(configWith(), { cube: turned("R"), steps: 20 })).toMatch(/no turns are left\.$/);
  });

  it("is a line a face for a small model", () => {
    expect(RubiksCube.compact(configWith(), { cube: turned("R"), steps: 3 })).toBe(
      "U WGWG\nL OOOO\nF GYGY\nR RRRR\nB WBWB\nD YBYB",
    );
  });
});

describe("the thought", () => {
  it("names the faces that are done and the next turn", () => {
    expect(RubiksCube.thought!(configWith(), { cube: turned("R"), steps: 0 }, ["R'"])).toBe("done L R then turn R'");
    expect(RubiksCube.thought!(configWith(), { cube: turned("R", "U"), steps: 0 }, ["U'", "R'"])).toBe(
      "no face done then turn U'",
    );
  });
});

describe("the content key", () => {
  it("is the scramble's, whatever the step", () => {
    const key = (cube: string, steps: number) => RubiksCube.contentKey(configWith(), { cube, steps });
    expect(key(turned("R"), 0)).toBe(key(turned("R"), 4));
    expect(key(turned("R"), 0)).not.toBe(key(turned("L"), 0));
  });
});
