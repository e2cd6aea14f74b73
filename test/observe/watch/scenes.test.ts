/** The scenes of a run, from its run file. */
import { expect, it } from "vitest";
import { scenesOf } from "../../../src/observe/watch/scenes.ts";

const config = `
es_manager: { train: { tags: [Plain, Rewritten] }, val: { tags: [Plain, Limited, Missing] } }
custom_envs:
  Plain: { env_type: sokoban, env_config: { grid_lookup: { 0: W } } }
  Rewritten: { env_type: sokoban, wrappers: [{ type: observation_rewrite, replacements: [] }] }
  Limited: { env_type: frozen_lake, wrappers: [{ type: time_limit, max_steps: 5 }] }
  Idle: { env_type: sudoku }
`;

it("are of the presets that the run plays and whose texts no wrapper rewrites", () => {
  expect(scenesOf(config)).toEqual({
    Plain: { env_type: "sokoban", env_config: { grid_lookup: { 0: "W" } } },
    Limited: { env_type: "frozen_lake", env_config: {} },
  });
});

it("are of each level of a preset, under its tag", () => {
  const levels = "levels: { small: { size: 3 }, large: { size: 6, p: 0.8 } }";
  const lakes = `custom_envs: { Lakes: { env_type: frozen_lake, env_config: { p: 0.9 }, ${levels} } }`;
  expect(scenesOf(`es_manager: { train: { tags: [Lakes] } }\n${lakes}`)).toEqual({
    Lakes: { env_type: "frozen_lake", env_config: { p: 0.9 } },
    "Lakes:small": { env_type: "frozen_lake", env_config: { p: 0.9, size: 3 } },
    "Lakes:large": { env_type: "frozen_lake", env_config: { p: 0.8, size: 6 } },
  });
  expect(scenesOf(`es_manager: { val: { tags: ["Lakes:small"] } }\n${lakes}`)).toEqual({
    "Lakes:small": { env_type: "frozen_lake", env_config: { p: 0.9, size: 3 } },
  });
});

it.each(["", "[1, 2]", "a: [", "es_manager: 3", "custom_envs: { A: 1 }"])("are none of %j", (text) => {
  expect(scenesOf(text)).toEqual({});
});
