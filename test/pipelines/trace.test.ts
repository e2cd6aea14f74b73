import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { configDir } from "../../pipelines/paths.ts";
import { trace } from "../../pipelines/trace.ts";
import { load } from "../../src/config/resolve.ts";
import { preset } from "../env/contract/presets.ts";
import { running } from "../env/openenv/serving.ts";

it.live.each([
  { tag: "Countdown", actions: ["1 + 2 || 3"], lines: 2 },
  { tag: "StaticMMLU", actions: ["A || B"], lines: 2 },
  { tag: "StaticMMLU", actions: ["A || B", "no such choice", "neither"], lines: 4 },
  { tag: "FrozenLake", actions: ["Up || up"], lines: 3 },
  { tag: "FrozenLake", actions: ["Up || up", "Left"], lines: 4 },
])("plays $actions of $tag as $lines lines with the reset", ({ actions, lines, tag }) =>
  Effect.gen(function* () {
    const config = yield* load("base", [], configDir);
    const printed = yield* trace({ config, tag, seed: 3, actions });
    expect(printed.map((line) => JSON.parse(line).t)).toEqual(Array.from({ length: lines }, (_, t) => t));
  }),
);

it.live("plays a served preset as it is played here, whole answers whole", () =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const environment = preset("StaticMMLU");
        await environment.prepare?.();
        return await running(environment);
      }),
      ({ close }) => Effect.promise(close),
    );
    const url = `custom_envs.Remote.env_config.url=${server.url}`;
    const config = yield* load("base", [url], configDir);
    const play = (tag: string) => trace({ config, tag, seed: 3, actions: ["A || B", "C"] });
    expect(yield* play("Remote")).toEqual(yield* play("StaticMMLU"));
  }).pipe(Effect.scoped),
);
