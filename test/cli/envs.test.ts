/** `millrace envs` lists presets that run on this machine and presets that do not; a run with the latter is refused. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { envs } from "../../pipelines/envs.ts";
import { configDir } from "../../pipelines/paths.ts";
import { boundEnvironments } from "../../pipelines/presets.ts";
import { load } from "../../src/config/resolve.ts";

/** Nobody listens on the discard port. */
const nowhere = "http://127.0.0.1:9";

const presetsConfig = Effect.fnUntraced(function* (tags: readonly string[], ...overrides: readonly string[]) {
  const config = yield* load("quickstart", overrides, configDir);
  return { ...config, custom_envs: Object.fromEntries(tags.map((tag) => [tag, config.custom_envs[tag]!])) };
});

const listed = Effect.fnUntraced(function* (tags: readonly string[], ...overrides: readonly string[]) {
  return yield* envs(yield* presetsConfig(tags, ...overrides), 120);
});

const far = ["Remote", "Far"].map((tag) => `custom_envs.${tag}.env_config.url=${nowhere}`);

describe("millrace envs", () => {
  it.live("says for each preset whether it runs here, and below why not", () =>
    Effect.gen(function* () {
      const lines = yield* listed(
        ["FrozenLake", "Remote", "Far", "Shop"],
        ...far,
        "custom_envs.Far.env_type=remote",
        "custom_envs.Shop.env_type=shp",
      );
      const cells = lines.slice(1, 5).map((line) => line.split(/ {2,}/).slice(0, 4));
      expect(cells).toEqual([
        ["FrozenLake", "frozen_lake", "10", "yes"],
        ["Remote", "remote", "10", "no"],
        ["Far", "remote", "10", "no"],
        ["Shop", "shp", "10", "no"],
      ]);
      const at = lines.indexOf("What does not run here, and why:");
      expect(lines[at + 2]).toBe("Remote, Far");
      expect(lines[at + 3]).toContain(nowhere);
      const shop = lines.indexOf("Shop", at);
      expect(lines[shop + 1]).toContain('custom_envs.Shop.env_type: "shp": no such environment; nearest:');
    }),
  );

  it.live("names no reasons where everything runs", () =>
    Effect.gen(function* () {
      const text = (yield* listed(["FrozenLake", "Bandit"])).join("\n");
      expect(text).not.toContain("does not run");
    }),
  );

  it.live("fits into the terminal, wrappers and all", () =>
    Effect.gen(function* () {
      const wrappers = "[{type: time_limit, max_steps: 5}, {type: action_filter, deny: [Up, Down, Left, Right]}]";
      const lines = yield* listed(
        ["SokobanDifferentGridVocab", "Remote"],
        ...far.slice(0, 1),
        `custom_envs.SokobanDifferentGridVocab.wrappers=${wrappers}`,
      );
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
      expect(lines.some((line) => /^sokoban +num_boxes +3 +Boxes/.test(line))).toBe(true);
      expect(lines.some((line) => /^time_limit +max_steps /.test(line))).toBe(true);
      expect(lines.join("").replaceAll(/\s/g, "")).toContain('wrappers=[{"type":"time_limit","max_steps":5}');
    }),
  );
});

describe("a run whose presets cannot run here", () => {
  it.live("is bad input that names each preset and all that is missing", () =>
    Effect.gen(function* () {
      const config = yield* presetsConfig(
        ["FrozenLake", "Lean", "Remote"],
        ...far.slice(0, 1),
        `custom_envs.Lean.env_config.server_url=${nowhere}`,
      );
      const error = yield* Effect.flip(boundEnvironments(config, ["FrozenLake", "Lean", "Remote"]));
      expect(error._tag).toBe("BadInput");
      const lines = error.message.split("\n");
      expect(lines.length).toBe(2);
      expect(lines[0]).toMatch(/^custom_envs\.Lean: cannot run here: .*127\.0\.0\.1:9.*env_config\.server_url/);
      expect(lines[1]).toMatch(/^custom_envs\.Remote: cannot run here: .*127\.0\.0\.1:9.*env_config\.url/);
      expect([...(yield* boundEnvironments(config, ["FrozenLake"])).keys()]).toEqual(["FrozenLake"]);
    }),
  );

  it.live("is bad input where a data file is there and has no row that can be used", () =>
    Effect.gen(function* () {
      const file = join(mkdtempSync(join(tmpdir(), "millrace-test-")), "rows.jsonl");
      writeFileSync(file, "no row\n");
      const config = yield* presetsConfig(["MetamathQA"], `custom_envs.MetamathQA.env_config.path=${file}`);
      const error = yield* Effect.flip(boundEnvironments(config, ["MetamathQA"]));
      rmSync(dirname(file), { recursive: true });
      expect(error._tag).toBe("BadInput");
      expect(error.message).toContain(`custom_envs.MetamathQA: ${file}`);
    }),
  );
});
