/** From a preset to a bound environment, and errors that lead to the offending key. */
import { Result, SchemaIssue } from "effect";
import { describe, expect, it } from "vitest";
import { decodePreset, environments } from "../../src/envs/registry.ts";
import { preset, presets } from "./presets.ts";

const formatter = SchemaIssue.makeFormatterStandardSchemaV1();

/** Path and message of every problem with an `env_config`. */
const problems = (env_type: string, env_config: Readonly<Record<string, unknown>>): [string, string][] => {
  const result = decodePreset("Mine", { env_type, env_config });
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
    expect([...environments.keys()].sort()).toEqual(["bandit", "frozen_lake", "sokoban"]);
    for (const [type, entry] of environments) expect(entry.type).toBe(type);
  });

  it("fills every key of an empty env_config with its default", () => {
    for (const entry of environments.values()) expect(Result.isSuccess(entry.decode({}))).toBe(true);
  });

  it("lists the valid types for an unknown one", () => {
    const result = decodePreset("Mine", { env_type: "sokobn", env_config: {} });
    expect(Result.isFailure(result) && result.failure).toEqual({
      _tag: "UnknownEnvironment",
      path: ["custom_envs", "Mine", "env_type"],
      value: "sokobn",
      choices: ["bandit", "frozen_lake", "sokoban"],
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
    ["sokoban", { render_mode: "rgb_array" }, "render_mode"],
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

describe("the presets", () => {
  it("are the reference's tags of these environments", () => {
    expect(Object.keys(presets)).toEqual([
      "SimpleSokoban",
      "LargerSokoban",
      "SokobanDifferentGridVocab",
      "CoordSokoban",
      "FrozenLake",
      "CoordFrozenLake",
      "Bandit",
      "BanditTest",
    ]);
  });

  it("give only answers that their environment takes as examples", () => {
    for (const [tag, { env_instruction }] of Object.entries(presets)) {
      const environment = preset(tag);
      const example = /<answer>(.*?)<\/answer>/.exec(env_instruction)?.[1]?.split("||") ?? [];
      expect(example.length > 0).toBe(environment.type !== "bandit");
      const names = ["Up", "Down", "Left", "Right"];
      expect(example.map((part) => part.trim()).every((name) => names.includes(name))).toBe(true);
    }
  });

  it("explain the alternative vocabulary, not the standard one", () => {
    expect(preset("SokobanDifferentGridVocab").legend).toContain("W: wall, .: empty, G: target, C: box on target");
  });
});
