import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { checkPresets } from "../../pipelines/presets.ts";
import { runFiles } from "../../src/config/compose.ts";
import { resolve } from "../../src/config/resolve.ts";

const configDir = new URL("../../config", import.meta.url).pathname;

describe("every run file of config/", () => {
  it.each(runFiles(configDir))("%s resolves, its presets included, without a warning", async (name) => {
    const { config, warnings } = Effect.runSync(resolve(name, [], configDir));
    const { train, val } = config.es_manager;
    await Effect.runPromise(checkPresets(config, [...train.tags, ...val.tags]));
    expect(warnings).toEqual([]);
  });
});
