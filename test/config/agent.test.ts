import { describe, expect, it } from "vitest";
import { agent as checkAgent } from "../../src/config/checks/agent.ts";
import { tags as checkTags } from "../../src/config/checks/groups.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";

const tags = { train: { tags: ["Agent"], n_groups: [8] }, val: { tags: ["Agent"], n_groups: [512] } };
const configOf = (changes: Tree) => configWith({ es_manager: tags, sft: { sources: [] }, ...changes });
const problemsOf = (changes: Tree) => checkAgent(configOf(changes));
const agent = { path: "/agent.ts" };

describe("a run file with an agent", () => {
  it("plays its tag, which is no preset", () => {
    expect([...checkTags(configOf({ agent })), ...problemsOf({ agent })]).toEqual([]);
    const unknown = expect.stringContaining('"Agent" is no preset');
    expect(checkTags(configOf({}))).toEqual([unknown, unknown]);
  });

  it("plays the tags of its levels, too", () => {
    const levelled = { agent: { ...agent, levels: ["easy", "hard"] } };
    const easy = { train: { tags: ["Agent:easy"], n_groups: [8] }, val: { tags: ["Agent:hard"], n_groups: [512] } };
    const changes = { ...levelled, es_manager: easy };
    expect([...checkTags(configOf(changes)), ...problemsOf(changes)]).toEqual([]);
    expect(checkTags(configOf({ ...changes, agent }))).toHaveLength(2);
  });

  it.each<[string, Tree, RegExp]>([
    [
      "workers",
      { pipeline: { workers: { url: "nats://a:4222" } } },
      /^pipeline\.workers\.url: .*; nearest: no workers$/,
    ],
    ["lockstep", { pipeline: { mode: "lockstep" } }, /^pipeline\.mode: lockstep: .*; nearest: sync$/],
    ["a context", { rollout: { context: "single_turn" } }, /^rollout\.context: single_turn: .*; nearest: full$/],
    ["an overflow", { rollout: { overflow: "drop" } }, /^rollout\.overflow: drop: .*; nearest: end$/],
    [
      "training on what was not sampled",
      { rollout: { enable_response_mask: false } },
      /^rollout\.enable_response_mask: false: .*; nearest: true$/,
    ],
    ["V-trace", { algorithm: { correction: "vtrace" } }, /^algorithm\.correction: vtrace: .*; nearest: none$/],
    ["bi-level GAE", { algorithm: { bi_level_gae: true } }, /^algorithm\.bi_level_gae: true: .*; nearest: false$/],
    ["a penalty", { es_manager: { ...tags, step_penalty: 1 } }, /^es_manager\.step_penalty: 1: .*; nearest: 0$/],
    ["a second agent", { agent: { ...agent, command: ["a"] } }, /^agent\.command: \["a"\]: .*; nearest: \[\]$/],
    [
      "an agent outside beside it",
      { agent: { ...agent, outside: true } },
      /^agent\.outside: true: .*; nearest: false$/,
    ],
    ["a tag that nothing plays", { agent: { ...agent, tag: "Agnet" } }, /^agent\.tag: "Agnet": .*; nearest: "Agent"$/],
    [
      "an agent beside presets alone",
      {
        agent,
        custom_envs: { Lake: { env_type: "frozen_lake" } },
        es_manager: { train: { tags: ["Lake"] }, val: { tags: ["Lake"] } },
      },
      /^agent\.tag: "Agent": .*; nearest: es_manager\.train\.tags=\[Agent\] es_manager\.val\.tags=\[Agent\]$/,
    ],
    ["tasks beside a module", { agent: { ...agent, tasks: "/t.jsonl" } }, /^agent\.tasks: .*; nearest: ""$/],
  ])("refuses %s", (_, changes, message) => {
    expect(problemsOf({ agent, ...changes }).filter((line) => message.test(line))).toHaveLength(1);
    expect(problemsOf({ ...changes, agent: {} }).filter((line) => message.test(line))).toEqual([]);
  });

  it("refuses a penalty of the format where agents alone play", () => {
    const manager = { ...tags, format_penalty: -0.5 };
    const message = "es_manager.format_penalty: -0.5: an agent's reward is its own; nearest: 0";
    expect(problemsOf({ agent, es_manager: manager })).toEqual([message]);
    const beside = { ...manager, val: { tags: ["CoordSokoban"], n_groups: [512] } };
    expect(problemsOf({ agent, es_manager: beside })).toEqual([]);
  });

  it("may have no penalty of the format", () => {
    expect(problemsOf({ agent, es_manager: { ...tags, format_penalty: 0 } })).toEqual([]);
  });
});
