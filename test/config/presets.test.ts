import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { checkPresets } from "../../pipelines/presets.ts";
import { runFileNames } from "../../src/config/compose.ts";
import { remarks, resolve } from "../../src/config/resolve.ts";

const configDir = new URL("../../config", import.meta.url).pathname;

describe("every run file of config/", () => {
  const ragens = runFileNames(`${configDir}/ragen`).map((name) => `ragen/${name}`);

  it.each([...runFileNames(configDir), ...ragens])(
    "%s resolves, its presets included, and sets nothing aside",
    async (name) => {
      const resolved = Effect.runSync(resolve(name, [], configDir));
      const { train, val } = resolved.config.es_manager;
      await Effect.runPromise(checkPresets(resolved.config, [...train.tags, ...val.tags]));
      expect(remarks(resolved)).toBeNull();
    },
  );

  it.each(ragens)("%s has RAGEN's template, lengths and model", (name) => {
    const { model, rollout } = Effect.runSync(resolve(name, [], configDir)).config;
    expect([model.path, rollout.template]).toEqual(["models/Qwen2.5-3B-Instruct", "ragen"]);
    expect(rollout.response_length).toBeGreaterThanOrEqual(256);
    expect(rollout.max_model_len).toBeGreaterThanOrEqual(3600);
  });
});
