/** The run files of RAGEN's family: its tags, turns and actions where a head does not say otherwise, and room for what is played. */
import { readFileSync } from "node:fs";
import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { runFileNames } from "../../src/config/compose.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { resolve } from "../../src/config/resolve.ts";
import { totalTokens, turnsOf } from "../../src/domain/Episode.ts";
import { decodePreset } from "../../src/env/games/registry.ts";
import * as Model from "../../src/model/Model.ts";
import * as Rollout from "../../src/rollout/Rollout.ts";
import { fromPreset } from "../../src/rollout/Task.ts";
import { demonstrations } from "../../src/tools/cloning/Cloning.ts";
import { registry } from "../env/contract/presets.ts";

const configDir = new URL("../../config", import.meta.url).pathname;

const nano = await Effect.runPromise(Model.load(`${configDir}/models/nano`));

const runFile = (name: string): RunConfig => Effect.runSync(resolve(name, [], configDir)).config;

const headOf = (name: string): string =>
  readFileSync(`${configDir}/${name}.yaml`, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("# "))
    .map((line) => line.slice(2))
    .join(" ");

/** Tag, turns, actions a turn, context, reply; null where the small model's run departs. */
const family: Readonly<Record<string, readonly [string, number | null, number, number | null, number | null]>> = {
  _1_bandit: ["Bandit", 1, 1, null, null],
  _2_sokoban: ["CoordSokoban", 5, 2, null, null],
  _3_frozen_lake: ["CoordFrozenLake", 5, 2, null, null],
  _4_countdown: ["Countdown", 1, 1, null, null],
  _5_metamathqa: ["MetamathQA", 5, 2, 3600, 400],
  _6_webshop: ["WebShop", 9, 1, 15000, 400],
  webshop_full: ["WebShopFull", 15, 1, 15000, 400],
  _7_lean: ["Lean", 15, 4, 8096, 512],
  _8_sudoku: ["SimpleSudoku", 5, 2, null, null],
  _9_2048: ["game_2048", null, 1, null, null],
  _9_search: ["SearchQA", 5, 1, 5000, 400],
  _10_deepcoder: ["DeepCoder", 1, 1, 10000, 4000],
  _10_rubikscube: ["rubikscube", null, 4, null, null],
};

describe.each(Object.entries(family))("%s", (name, [tag, turns, actions, context, reply]) => {
  const { es_manager, model, rollout } = runFile(name);

  it("plays RAGEN's tag with its turns, actions and lengths, or says that it departs", () => {
    expect(es_manager.train.tags).toEqual([tag]);
    expect(es_manager.val.tags[0]).toBe(tag);
    expect(rollout.max_actions_per_turn).toBe(actions);
    if (turns === null) expect(headOf(name)).toMatch(new RegExp(`so ${rollout.max_turn} turns .*instead of \\d+`));
    else expect(rollout.max_turn).toBe(turns);
    const lengths = context === null ? [] : [context, reply];
    expect(context === null ? [] : [rollout.max_model_len, rollout.response_length]).toEqual(lengths);
    if (context === null) expect(headOf(name)).toContain("template, max_model_len and response_length");
  });

  it("names the keys in which it departs, and a model that has room for the context", () => {
    expect(headOf(name)).toContain(`Departs from RAGEN's ${name} in: `);
    if (context === null) Effect.runSync(Model.checkContext(runFile(name), nano));
    expect(model.path).toBe(context === null ? "config/models/nano" : "models/Qwen2.5-3B-Instruct");
  });
});

/** Files of an instruction-tuned model. */
const realModel = ["smollm2_bandit", "smollm2_countdown", "smollm2_frozen_lake"];

describe("every run file", () => {
  const named = ["quickstart", "sft_nano", "alfworld", "base", "envs", ...realModel];

  it("is in docs/environments.md", () => {
    const page = readFileSync(new URL("../../docs/environments.md", import.meta.url), "utf8");
    const listed = page.split("\n## Run files\n")[1]!.split("\n## ")[0]!;
    expect(
      [...Object.keys(family), "alfworld", ...realModel].filter((name) => !listed.includes(`\`${name}\``)),
    ).toEqual([]);
  });

  it("is one of these", () => {
    expect(runFileNames(configDir).filter((name) => !named.includes(name))).toEqual(Object.keys(family).sort());
  });

  it.each([...Object.keys(family), ...named])("%s binds the presets it plays", (name) => {
    const { custom_envs, es_manager } = runFile(name);
    const tags = [...es_manager.train.tags, ...es_manager.val.tags];
    expect(tags.filter((tag) => Result.isFailure(decodePreset(tag, custom_envs[tag]!, registry)))).toEqual([]);
  });
});

/** The first texts that a model is shown, of the preset that it is cloned on. */
const openingText = (name: string): string => {
  const config = runFile(name);
  const { tag } = config.sft.sources[0]!;
  const environment = Result.getOrThrow(decodePreset(tag, config.custom_envs[tag]!, registry));
  const task = fromPreset(tag, config.custom_envs[tag]!, environment);
  const { template } = Rollout.make(config, [task], nano.chat, nano.tokenizer);
  const view = { state: null, observation: "S", compact: "S", actions: ["A"], contentKey: "" };
  const { system, user } = template.opening(task, { view, turn: 1, actionsLeft: 1 });
  return `${system}\n${user}`;
};

describe("a run file of an instruction-tuned model", () => {
  it.each(["smollm2_bandit", "smollm2_countdown"])("%s tells it the form of an answer", (name) => {
    expect(openingText(name)).toContain("Always output: <answer> [your answer] </answer>");
  });

  it("smollm2_frozen_lake, whose clone knows the form, shows the kind, the state and the actions left alone", () => {
    expect(openingText("smollm2_frozen_lake")).toBe("frozen_lake\nS\n1");
  });

  it("smollm2_frozen_lake shows coordinates, because a token of the model holds several cells of a grid", () => {
    const { env_config } = runFile("smollm2_frozen_lake").custom_envs.FrozenLake!;
    expect(env_config).toMatchObject({ observation_format: "coord", success_rate: 1 });
  });
});

/** Files that clone what they go on from. */
const cloned = ["_4_countdown", "_8_sudoku", "_9_2048", "_10_rubikscube"];

describe.each(cloned)("%s", (name) => {
  it("has room for whole demonstrations, of as many turns as it allows", async () => {
    const config = runFile(name);
    const [source] = config.sft.sources;
    const { tag } = source!;
    const environment = Result.getOrThrow(decodePreset(tag, config.custom_envs[tag]!, registry));
    if (environment.asynchronous) return expect.unreachable();
    const task = fromPreset(tag, config.custom_envs[tag]!, environment);
    const rollout = Rollout.make(config, [task], nano.chat, nano.tokenizer);
    const demonstrator = { rollout, tokenizer: nano.tokenizer, noise: 0, seed: 1, excluded: () => false };
    const attempts = demonstrations(demonstrator, [{ ...source!, environment, task, episodes: 3 }]);
    const { episodes } = await Effect.runPromise(attempts);
    expect(episodes).toHaveLength(3);
    for (const episode of episodes) {
      const { outcome } = episode;
      expect(totalTokens(episode)).toBeLessThanOrEqual(config.rollout.max_model_len);
      if (!(outcome._tag === "Done" && outcome.success)) expect(turnsOf(episode)).toHaveLength(config.rollout.max_turn);
    }
  });
});
