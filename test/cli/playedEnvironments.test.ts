/** A user's module is loaded by the step threads or by the main thread. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { playedEnvironments } from "../../pipelines/presets.ts";
import { resolved } from "../config/configs.ts";

const module = (name: string): string => new URL(`../env/custom/fixtures/${name}`, import.meta.url).pathname;

const environmentsOf = (name: string, ...overrides: readonly string[]) => {
  const { config } = resolved("", `+custom_envs.Mine.env_type=${module(name)}`, ...overrides);
  return Effect.map(playedEnvironments(config, ["Mine", "Bandit"]), ({ onMainThread, texts }) => ({
    types: [...texts].map(([tag, { type }]) => `${tag} ${type}`),
    onMainThread: [...onMainThread.keys()],
  }));
};

describe("a user's module", () => {
  it.live("is loaded in threads only", () =>
    Effect.gen(function* () {
      expect(yield* environmentsOf("tellsThread.ts")).toEqual({
        types: ["Mine thread", "Bandit bandit"],
        onMainThread: [],
      });
    }),
  );

  it.live("is loaded in the main thread where steps are inline", () =>
    Effect.gen(function* () {
      expect(yield* environmentsOf("tellsThread.ts", "pipeline.step_inline=true")).toEqual({
        types: ["Mine main", "Bandit bandit"],
        onMainThread: ["Mine", "Bandit"],
      });
    }),
  );

  it.live("is loaded in the main thread where its environment is asynchronous", () =>
    Effect.gen(function* () {
      expect(yield* environmentsOf("patientLights.ts")).toEqual({
        types: ["Mine lights", "Bandit bandit"],
        onMainThread: ["Mine"],
      });
    }),
  );
});
