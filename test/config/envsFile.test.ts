/** A file of presets in place of the included one. */
import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { resolve } from "../../src/config/resolve.ts";
import { withConfigs } from "./configs.ts";

const theirs = `
custom_envs:
  FrozenLake: { env_type: frozen_lake, env_instruction: Words of theirs., max_workers: 4, env_config: { p: 0.5 } }
  Lake: { env_type: frozen_lake }
`;

const presetsOf = (run: string, overrides: readonly string[] = []) =>
  withConfigs({ run, theirs }, (dir) => {
    const { config } = Effect.runSync(resolve("run", overrides, dir, `${dir}/theirs.yaml`));
    return config.custom_envs;
  });

describe("a file of presets", () => {
  it("replaces those with the same tags whole, adds its own and leaves the others", () => {
    const presets = presetsOf("defaults: [base]");
    expect(presets.FrozenLake).toMatchObject({ env_instruction: "Words of theirs.", env_config: { p: 0.5 } });
    expect(Object.keys(presets.FrozenLake?.env_config ?? {})).toEqual(["p"]);
    expect(Object.keys(presets)).toEqual(expect.arrayContaining(["Lake", "CoordSokoban", "Bandit"]));
  });

  it("comes before what the run file and the overrides change", () => {
    const run = "defaults: [base]\ncustom_envs: { FrozenLake: { env_config: { success_rate: 1 } } }";
    const presets = presetsOf(run, ["custom_envs.FrozenLake.env_config.p=0.7"]);
    expect(presets.FrozenLake?.env_config).toEqual({ success_rate: 1, p: 0.7 });
  });

  it("is taken by a run file that includes none", () => {
    const run = "es_manager: { train: { tags: [Lake] }, val: { tags: [Lake] } }\nsft: { sources: [{ tag: Lake }] }";
    expect(Object.keys(presetsOf(run))).toEqual(["FrozenLake", "Lake"]);
  });

  it("that does not exist is refused with the nearest", () => {
    const outcome = withConfigs({ run: "defaults: [base]", theirs }, (dir) => {
      const result = Effect.runSync(Effect.result(resolve("run", [], dir, `${dir}/their.yaml`)));
      return Result.isFailure(result) ? result.failure.message : "accepted";
    });
    expect(outcome).toMatch(/^no run file ".*their\.yaml"; nearest: .*theirs\.yaml$/);
  });
});
