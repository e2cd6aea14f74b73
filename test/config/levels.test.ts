import { Result, Schema } from "effect";
import { describe, expect, it } from "vitest";
import { levels } from "../../src/config/checks/levels.ts";
import { decode } from "../../src/config/decode.ts";
import { allPlayedTags, levelsOf, playedTags, trainedLevels, withLevels } from "../../src/config/levels.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { merge } from "../../src/config/Tree.ts";
import { startingSampler } from "../../src/config/taskSampler.ts";
import { configWith } from "../build/config.ts";

const lakes: Tree = {
  custom_envs: {
    Lakes: {
      env_type: "frozen_lake",
      max_actions_per_traj: 12,
      env_config: { success_rate: 1, grid_lookup: { "0": "P", "1": "." } },
      levels: { easy: { size: 3 }, hard: { size: 6, grid_lookup: { "1": "_" } } },
    },
    Plain: { env_type: "bandit" },
  },
  es_manager: {
    train: { env_groups: 4, tags: ["Lakes", "Plain"], n_groups: [3, 1], sampler: { by: "difficulty" } },
    val: { env_groups: 4, tags: ["Plain"], n_groups: [4] },
  },
};
const config = configWith(lakes);
const problems = (changes: Tree) => levels(configWith(merge(lakes, changes)));

describe("levels of a preset", () => {
  it("are presets with its arguments and those of the level, played in its place", () => {
    const presets = withLevels(config.custom_envs);
    expect(Object.keys(presets)).toEqual(["Lakes", "Plain", "Lakes:easy", "Lakes:hard"]);
    expect(presets["Lakes:hard"]).toEqual({
      ...config.custom_envs.Lakes,
      env_config: { success_rate: 1, grid_lookup: { "0": "P", "1": "_" }, size: 6 },
      levels: {},
    });
    expect(playedTags(config, "train")).toEqual(["Lakes:easy", "Lakes:hard", "Plain"]);
    expect(playedTags(config, "val")).toEqual(["Plain"]);
    expect(allPlayedTags(config)).toEqual(["Lakes:easy", "Lakes:hard", "Plain"]);
    expect(trainedLevels(config)).toEqual({ Lakes: ["Lakes:easy", "Lakes:hard"] });
  });

  it("are no presets of the run file that a worker receives", () => {
    const sent: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(RunConfig)(config)));
    const received = Result.getOrThrow(decode(RunConfig, sent));
    expect(levels(received)).toEqual([]);
    expect(received.custom_envs).toEqual(config.custom_envs);
  });

  it("are an agent's where its tasks have some", () => {
    const agent = configWith({ agent: { path: "./agent.ts", levels: ["low", "high"] } });
    expect(levelsOf(agent)).toEqual({ Agent: ["Agent:low", "Agent:high"] });
    expect(levelsOf(configWith({ agent: { levels: ["low"] } }))).toEqual({});
  });

  it("are refused by name where they cannot be tags, or are presets already", () => {
    expect(problems({})).toEqual([]);
    expect(problems({ custom_envs: { Lakes: { levels: { "a/b": {} } } } })).toEqual([
      'custom_envs.Lakes.levels: "a/b": a level has 1 to 64 letters, digits, _, + or -',
    ]);
    expect(problems({ custom_envs: { "Lakes:easy": { env_type: "bandit" } } })).toEqual([
      'custom_envs.Lakes.levels: "easy": Lakes:easy is a preset already',
    ]);
  });
});

describe("the task sampler of a run file", () => {
  it("is refused by difficulty where training plays no levels", () => {
    const train = { tags: ["Plain"], n_groups: [4] };
    expect(problems({ es_manager: { train } })).toEqual([
      "es_manager.train.sampler.by: difficulty: no preset of es_manager.train.tags (Plain) has levels; nearest: uniform",
    ]);
    expect(problems({ es_manager: { train: { ...train, sampler: { by: "uniform" } } } })).toEqual([]);
  });

  it("starts with the lead of the mode, and goes on with what it knew", () => {
    const leadOf = (mode: string) =>
      startingSampler(configWith(merge(lakes, { pipeline: { mode, max_staleness: 3 } })))?.lead;
    expect([leadOf("lockstep"), leadOf("sync"), leadOf("async")]).toEqual([0, 0, 3]);
    const posteriors = [{ "Lakes:easy": { successes: 1, failures: 2, tokens: 3 } }] as const;
    expect(startingSampler(config, { lead: 9, posteriors })?.posteriors).toEqual(posteriors);
    expect(startingSampler(configWith())).toBeNull();
  });
});
