import { describe, expect, it } from "vitest";
import { schedule } from "../../src/config/checks/schedule.ts";
import { startingLag } from "../../src/config/fixedLag.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";

const lagged: Tree = { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 3 } };
const problems = (tree: Tree) => schedule(configWith(merge(lagged, tree)));

describe("pipeline.schedule", () => {
  it("is free-running by default, and then fits every run", () => {
    expect(configWith({}).pipeline.schedule).toBe("free_running");
    expect(schedule(configWith({ pipeline: { window_order: "completion" } }))).toEqual([]);
    expect(startingLag(configWith({}))).toBeNull();
  });

  it("with a fixed lag refuses what would make bits depend on time, with the nearest choice", () => {
    expect(problems({})).toEqual([]);
    const refused: readonly (readonly [Tree, RegExp])[] = [
      [{ pipeline: { mode: "sync" } }, /^pipeline\.mode: sync: .*; nearest: async$/],
      [{ pipeline: { window_order: "completion" } }, /^pipeline\.window_order: completion: .*; nearest: admission$/],
      [{ generation: { kv_on_update: "recompute" } }, /^generation\.kv_on_update: recompute: .*; nearest: keep$/],
      [
        { model: { generator: { engine: "vllm", urls: ["http://127.0.0.1:8000"] } } },
        /^model\.generator\.engine: vllm: .*; nearest: local$/,
      ],
      [{ model: { learner: { engine: "tinker" } } }, /^model\.learner\.engine: tinker: .*; nearest: local$/],
      [
        { pipeline: { workers: { url: "nats://broker:4222" } } },
        /^pipeline\.workers\.url: nats:\/\/broker:4222: .*; nearest: no workers$/,
      ],
    ];
    for (const [tree, message] of refused) {
      expect(problems(tree)).toHaveLength(1);
      expect(problems(tree)[0]).toMatch(message);
    }
  });
});
