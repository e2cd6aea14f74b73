/** Environments of a user's modules, from the path in a preset to states: the same in threads and inline, beside those of the package. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Layer, Result, Schema } from "effect";
import { PresetSection } from "../../../src/config/RunConfig.ts";
import { Environments } from "../../../src/env/contract/Environments.ts";
import { decodePreset, gamesUrl, loadRegistry } from "../../../src/env/games/registry.ts";
import { layerInline, layerThreads } from "../../../src/env/pool/StepPool.ts";
import { fromPreset } from "../../../src/rollout/Task.ts";
import { instanceOf, play } from "../contract/players.ts";

const pathOf = (file: string): string => new URL(file, import.meta.url).pathname;
const lights = pathOf("../../../docs/examples/environment/lights.ts");
const patientLights = pathOf("./fixtures/patientLights.ts");
const unknownEntry = pathOf("./fixtures/unknownEntry.ts");

/** One preset, decoded with a registry that was loaded for it. */
const loaded = (env_type: string, env_config: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    Effect.promise(() => loadRegistry([env_type])),
    (registry) => decodePreset("Mine", { env_type, env_config }, registry),
  );

describe("a preset whose env_type is a path", () => {
  it.effect("binds the environment of the module", () =>
    Effect.gen(function* () {
      const environment = Result.getOrThrow(yield* loaded(lights, { lamps: 4 }));
      if (environment.asynchronous) return expect.unreachable();
      const start = environment.reset(instanceOf(3), "train");
      expect(environment.compact(start)).toHaveLength(4);
      const plan = environment.solve!(start)!;
      expect(play(environment, start, plan, instanceOf)).toMatchObject({ success: true });
    }),
  );

  it.effect("may be asynchronous", () =>
    Effect.gen(function* () {
      const environment = Result.getOrThrow(yield* loaded(patientLights));
      expect(environment).toMatchObject({ type: "lights", asynchronous: true, capacity: 2, timeoutMs: 5_000 });
    }),
  );

  it.effect("keeps the environment's key path where its configuration is refused", () =>
    Effect.gen(function* () {
      const result = yield* loaded(lights, { lamps: 40 });
      expect(Result.isFailure(result) && result.failure).toMatchObject({
        _tag: "InvalidConfig",
        path: ["custom_envs", "Mine", "env_config"],
      });
    }),
  );

  it.effect("takes no name away from the package: the path is the key", () =>
    Effect.gen(function* () {
      const registry = yield* Effect.promise(() => loadRegistry([lights, patientLights, "sokoban"]));
      const types = [lights, patientLights, "sokoban"].map((env_type) =>
        Result.getOrThrow(Result.map(decodePreset("Mine", { env_type, env_config: {} }, registry), ({ type }) => type)),
      );
      expect(types).toEqual(["lights", "lights", "sokoban"]);
    }),
  );

  it.effect("is named in prompts as the environment calls itself, not by its file", () =>
    Effect.gen(function* () {
      const preset = Schema.decodeUnknownSync(PresetSection)({ env_type: lights });
      expect(fromPreset("Mine", preset, Result.getOrThrow(yield* loaded(lights)))).toMatchObject({ kind: "lights" });
    }),
  );

  it.effect("says why where its module cannot be used", () =>
    Effect.gen(function* () {
      expect(yield* loaded("/nowhere/at/all.ts")).toEqual(
        Result.fail({
          _tag: "UnusableModule",
          path: ["custom_envs", "Mine", "env_type"],
          value: "/nowhere/at/all.ts",
          reason: "no such file",
        }),
      );
    }),
  );
});

describe("threads", () => {
  it.live("load the module themselves, and answer as inline does", () =>
    Effect.gen(function* () {
      const presets = { Mine: { env_type: lights, env_config: { lamps: 5 } } };
      const playing = Effect.gen(function* () {
        const environments = yield* Environments;
        const instance = { seed: 3, purpose: "instance", counters: [] } as const;
        const { actions, state } = yield* environments.reset({ tag: "Mine", instance, split: "train" });
        const noise = { seed: 0, purpose: "noise", counters: [0, 0, 1] } as const;
        return yield* environments.step({ tag: "Mine", state, actions: actions!.slice(0, 3), noise });
      });
      const bound = Result.getOrThrow(yield* loaded(lights, presets.Mine.env_config));
      const here = yield* Effect.provide(playing, layerInline(new Map([["Mine", bound]])));
      const there = yield* Effect.provide(
        playing,
        layerThreads({ registry: gamesUrl, presets, threads: 1, concurrency: 1, timeoutMs: 5_000 }),
      );
      expect(there).toEqual(here);
      expect(here.executed).toBe(3);
    }),
  );

  it.live("may import the entries of the package, and none of its files", () =>
    Effect.gen(function* () {
      const presets = { Mine: { env_type: unknownEntry, env_config: {} } };
      const error = yield* Effect.flip(
        Effect.scoped(
          Layer.build(layerThreads({ registry: gamesUrl, presets, threads: 1, concurrency: 1, timeoutMs: 5000 })),
        ),
      );
      expect(error.message).toContain(
        "no entry of this package; there are millrace, millrace/agent, millrace/env, millrace/env/contract, millrace/env/mcp, millrace/learner, millrace/metrics",
      );
    }),
  );
});
