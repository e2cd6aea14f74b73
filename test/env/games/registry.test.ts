/** From a preset to a bound environment, and errors that lead to the offending key. */
import { Result, Schema, SchemaIssue } from "effect";
import { describe, expect, it } from "vitest";
import { withLevels } from "../../../src/config/levels.ts";
import { decodePreset, environmentTypes, loadRegistry } from "../../../src/env/games/registry.ts";
import { canonicalAction, splitActions } from "../../../src/env/validate/trace.ts";
import { instanceOf } from "../contract/players.ts";
import { anyPreset, elsewhere, preset, presets, registry } from "../contract/presets.ts";

const formatter = SchemaIssue.makeFormatterStandardSchemaV1();

/** Path and message of every problem with an `env_config`. */
const problems = (env_type: string, env_config: Readonly<Record<string, unknown>>): [string, string][] => {
  const result = decodePreset("Mine", { env_type, env_config }, registry);
  if (Result.isSuccess(result) || result.failure._tag !== "InvalidConfig") return [];
  const { cause, path } = result.failure;
  expect(path).toEqual(["custom_envs", "Mine", "env_config"]);
  return formatter(cause.issue).issues.map(({ message, path: inner }) => [
    (inner ?? []).map(String).join("."),
    message,
  ]);
};

describe("the registry", () => {
  it("names environments by their type", () => {
    expect(environmentTypes).toEqual(expect.arrayContaining(["bandit", "frozen_lake", "sokoban"]));
    for (const [type, entry] of registry.environments) expect(entry.type).toBe(type);
  });

  it("loads what is named and nothing else", async () => {
    const { environments, unusable } = await loadRegistry(["sokoban", "bandit", "sokoban", "nowhere"]);
    expect([...environments.keys()]).toEqual(["sokoban", "bandit"]);
    expect(unusable.size).toBe(0);
  });

  it("fills every key of an empty env_config with its default", () => {
    for (const entry of registry.environments.values()) expect(Result.isSuccess(entry.decode({}))).toBe(true);
  });

  it.each([
    ["bandit", { lo_arm_score: 0.1, hi_arm_loscore: 0, hi_arm_hiscore: 1, hi_arm_hiscore_prob: 0.25 }],
    [
      "sokoban",
      {
        dim_room: [6, 6],
        max_steps: 100,
        num_boxes: 3,
        search_depth: 300,
        observation_format: "grid",
        min_solution_steps: null,
        max_reset_tries: 1000,
        success_reward: 1,
        ignore_gym_reward: false,
        distance_reward_coeff: 0,
        no_op_penalty: 0,
      },
    ],
    ["frozen_lake", { size: 4, p: 0.9, success_rate: 0.8, is_slippery: true, observation_format: "grid" }],
    ["countdown", { score: 1, format_score: 0.1 }],
    ["sudoku", { correct_placement_score: 1, invalid_action_score: -0.1, completion_bonus: 10, max_steps: 81 }],
    ["game_2048", { size: 4, two_prob: 0.9, use_log_reward: true, invalid_act_score: -0.1, goal_tile: 2048 }],
    ["rubikscube", { scramble_depth: 5, max_steps: 20 }],
    ["spatial", { room_size: [10, 10], n_objects: 3, max_exp_steps: 10 }],
  ])("has the reference's defaults for %s", (type, defaults) => {
    expect(Schema.decodeUnknownSync(registry.environments.get(type)!.config)({})).toMatchObject(defaults);
  });

  it("lists the valid types for an unknown one", () => {
    const result = decodePreset("Mine", { env_type: "sokobn", env_config: {} }, registry);
    expect(Result.isFailure(result) && result.failure).toEqual({
      _tag: "UnknownEnvironment",
      path: ["custom_envs", "Mine", "env_type"],
      value: "sokobn",
      choices: environmentTypes,
    });
  });

  it.each([
    ["frozen_lake", { success_rate: 1.5 }, "success_rate"],
    ["frozen_lake", { succes_rate: 1 }, "succes_rate"],
    ["frozen_lake", { size: 4.5 }, "size"],
    ["frozen_lake", { observation_format: "image" }, "observation_format"],
    ["sokoban", { num_boxes: 15 }, "num_boxes"],
    ["sokoban", { dim_room: [3, 4], num_boxes: 1 }, "dim_room"],
    ["sokoban", { dim_room: [6] }, "dim_room"],
    ["sokoban", { grid_lookup: { 0: "##" } }, "grid_lookup.0"],
    ["sokoban", { grid_lookup: { 0: "X" } }, "grid_lookup"],
    ["sokoban", { render_mode: "ansi" }, "render_mode"],
    ["sokoban", { min_solution_steps: [4, 3] }, "min_solution_steps"],
    ["sokoban", { min_solution_steps: [0, 3] }, "min_solution_steps"],
    ["sokoban", { max_reset_tries: 0 }, "max_reset_tries"],
    ["bandit", { split: "validation" }, "split"],
  ])("refuses %s %j by its key", (type, keys, path) => {
    const found = problems(type, keys);
    expect(found.length).toBe(1);
    expect(found[0]![0].startsWith(path)).toBe(true);
  });

  it("says which two cells look alike", () => {
    expect(problems("sokoban", { grid_lookup: { 4: "O" } })[0]![1]).toContain('cells 2 and 4 both show "O"');
  });
});

/** The reference's tags with their limits: actions of a trajectory, and the length that the prompt names. */
const limits: Readonly<Record<string, readonly [max_actions_per_traj: number, max_tokens: number]>> = {
  SimpleSokoban: [10, 100],
  VisualSimpleSokoban: [10, 100],
  LargerSokoban: [10, 100],
  SokobanDifferentGridVocab: [10, 100],
  CoordSokoban: [10, 120],
  FrozenLake: [10, 100],
  CoordFrozenLake: [10, 120],
  Bandit: [1, 100],
  BanditTest: [1, 100],
  Countdown: [1, 100],
  MetamathQA: [1, 100],
  SimpleSudoku: [20, 150],
  MediumSudoku: [30, 150],
  WebShop: [9, 200],
  WebShopFull: [15, 200],
  Alfworld: [50, 512],
  AlfworldOOD: [50, 512],
  SearchQA: [10, 300],
  SearchQAMock: [10, 300],
  DeepCoder: [1, 8000],
  Lean: [30, 512],
  game_2048: [700, 8192],
  rubikscube: [20, 96],
};

/** The keys that RAGEN sets for its environments that are played here. */
const envConfigs: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  SimpleSokoban: { dim_room: [6, 6], num_boxes: 1, max_steps: 100 },
  VisualSimpleSokoban: { dim_room: [6, 6], num_boxes: 1, max_steps: 100, render_mode: "rgb_array" },
  LargerSokoban: { dim_room: [8, 8], num_boxes: 2, max_steps: 100, search_depth: 10 },
  SokobanDifferentGridVocab: {
    dim_room: [6, 6],
    num_boxes: 1,
    max_steps: 100,
    search_depth: 30,
    grid_lookup: { 0: "W", 1: ".", 2: "G", 3: "C", 4: "B", 5: "A", 6: "@" },
  },
  CoordSokoban: { dim_room: [6, 6], num_boxes: 1, max_steps: 100, observation_format: "grid_coord" },
  FrozenLake: { success_rate: 0.8 },
  CoordFrozenLake: { success_rate: 0.8, observation_format: "grid_coord" },
  Bandit: { split: "train" },
  BanditTest: { split: "test" },
  Countdown: {},
  SimpleSudoku: {
    grid_size: 9,
    difficulty: "easy",
    render_format: "with_feedback",
    show_conflicts: true,
    show_valid_numbers: true,
    max_steps: 81,
  },
  MediumSudoku: {
    grid_size: 9,
    difficulty: "medium",
    render_format: "with_feedback",
    show_conflicts: true,
    show_valid_numbers: true,
    max_steps: 81,
  },
  game_2048: {},
  rubikscube: { scramble_depth: 1, max_steps: 20 },
};

/** Presets of environments to which the reference gives no tag. */
const untagged = [
  "Spatial",
  "StaticGSM8K",
  "StaticMetamathQA",
  "StaticTheoremQA",
  "StaticMMLU",
  "Remote",
  "DeepCoderJavaScript",
  "FrozenLakeLevels",
  "SokobanLevels",
  "CountdownLevels",
];

describe("the presets", () => {
  it("are all decoded by the schemas of their environments", () => {
    const failures = Object.keys(presets).filter((tag) => Result.isFailure(decodePreset(tag, presets[tag]!, registry)));
    expect(failures).toEqual([]);
  });

  it("have the reference's tags, and a few more", () => {
    expect(Object.keys(presets).sort()).toEqual([...Object.keys(limits), ...untagged].sort());
  });

  it("have levels that are environments of their own, with instances", () => {
    const all = withLevels(presets);
    const levels = Object.keys(all).filter((tag) => !Object.hasOwn(presets, tag));
    expect(levels).toContain("FrozenLakeLevels:6x6-slip");
    for (const tag of levels) {
      const environment = Result.getOrThrow(decodePreset(tag, all[tag]!, registry));
      if (environment.asynchronous) throw new Error(`${tag} is asynchronous`);
      const keys = Array.from({ length: 8 }, (_, seed) =>
        environment.contentKey(environment.reset(instanceOf(10_000 + seed), "train")),
      );
      expect(new Set(keys).size).toBeGreaterThan(1);
    }
  });

  it.each(Object.entries(limits))("limit %s as the reference does", (tag, expected) => {
    const { max_actions_per_traj, max_tokens } = presets[tag]!;
    expect([max_actions_per_traj, max_tokens]).toEqual(expected);
  });

  it.each(Object.entries(envConfigs))("set of %s what the reference sets", (tag, expected) => {
    expect(presets[tag]!.env_config).toEqual(expected);
  });

  it("give only answers that their environment takes as examples", async () => {
    const { signal } = new AbortController();
    for (const [tag, { env_instruction }] of Object.entries(presets)) {
      if (elsewhere.has(tag)) continue;
      const environment = anyPreset(tag);
      await environment.prepare?.();
      const legal = environment.actions(await environment.reset(instanceOf(10_000), "train", signal));
      const examples = [...env_instruction.matchAll(/<answer>(.*?)<\/answer>/g)].flatMap(([, answer]) =>
        splitActions(answer!),
      );
      expect(examples.filter((action) => canonicalAction(legal, action) === null)).toEqual([]);
      if (legal !== null) expect(examples.length > 0).toBe(environment.type !== "bandit");
    }
  });

  it("explain the alternative vocabulary, not the standard one", () => {
    expect(preset("SokobanDifferentGridVocab").legend).toContain("W: wall, .: empty, G: target, C: box on target");
  });
});
