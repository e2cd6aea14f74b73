/** A thread describes presets whose environments it loads. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { gamesUrl } from "../../../src/env/games/registry.ts";
import { describePresets } from "../../../src/env/pool/describePresets.ts";

const described = (file: string, env_config = {}, loadMs?: number) =>
  Effect.map(
    describePresets(
      {
        registry: gamesUrl.href,
        presets: { Mine: { env_type: new URL(file, import.meta.url).pathname, env_config } },
        withData: true,
      },
      loadMs,
    ),
    (descriptions) => descriptions.get("Mine"),
  );

describe("a preset that is described in a thread", () => {
  it.live("has the text of its environment", () =>
    Effect.gen(function* () {
      expect(yield* described("../custom/fixtures/tellsThread.ts")).toMatchObject({
        _tag: "Pure",
        text: { type: "thread", wholeAnswer: false },
        lacks: [],
        report: [],
      });
    }),
  );

  it.live("is known to be asynchronous", () =>
    Effect.gen(function* () {
      expect(yield* described("../custom/fixtures/patientLights.ts")).toEqual({ _tag: "Asynchronous" });
    }),
  );

  it.live("cannot be used with a wrong key", () =>
    Effect.gen(function* () {
      const { problem } = (yield* described("../custom/fixtures/tellsThread.ts", { lamp: 3 })) as { problem: string };
      expect(problem).toContain("custom_envs.Mine.env_config.lamp");
      expect(problem).toContain("lamps");
    }),
  );

  it.live("cannot be used where its module never finishes loading", () =>
    Effect.gen(function* () {
      expect(yield* described("../custom/fixtures/spins.ts", {}, 500)).toEqual({
        _tag: "Unusable",
        problem: "custom_envs.Mine.env_type: the module has not loaded after 0.5 s",
      });
    }),
  );
});
