/** Refusals of run files that train on a server: some hold for all servers, others for a server's traits. */

import { describe, expect, it } from "vitest";
import { check } from "../../../src/config/check.ts";
import { RunConfig } from "../../../src/config/RunConfig.ts";
import type { Tree } from "../../../src/config/Tree.ts";
import type { TinkerServerName } from "../../../src/domain/TinkerServer.ts";
import { findUnsupported, runTraits } from "../../../src/remote/tinker/unsupported.ts";
import { configsOf } from "../../build/config.ts";

const base = {
  pipeline: { mode: "sync" },
  model: { generator: { engine: "tinker" }, learner: { engine: "tinker", url: "http://127.0.0.1:8000" } },
  algorithm: { adv_estimator: "grpo" },
  actor: { entropy_coeff: 0, grad_clip: 0 },
};
const tinkerConfig = configsOf(RunConfig, base);

const ofLearner = (more: Tree = {}) =>
  check(tinkerConfig(more)).filter((line) => /model\.(learner|generator)|Tinker|server/.test(line));

describe("of any server", () => {
  it("a run file that asks for nothing strange is taken", () => {
    expect(ofLearner()).toEqual([]);
  });

  it.each([
    [{ model: { learner: { url: "" } } }, /^model\.learner\.url: empty/],
    [
      { model: { learner: { engine: "local" }, generator: { engine: "local" } } },
      /^model\.learner\.engine: local: it asks no server/,
    ],
    [
      { model: { learner: { engine: "local", url: "" } } },
      /^model\.generator\.engine: tinker: it is the server of model\.learner/,
    ],
    [
      { model: { generator: { engine: "local" } } },
      /^model\.generator\.engine: local: the weights are on the training server/,
    ],
    [
      { model: { generator: { engine: "vllm", urls: ["http://127.0.0.1:1"] } } },
      /^model\.generator\.engine: vllm: the weights are on the training server/,
    ],
    [{ model: { generator: { urls: ["http://127.0.0.1:1"] } } }, /^model\.generator\.urls/],
    [{ generation: { temperature: 0.5 } }, /^generation\.temperature: 0\.5/],
    [{ generation: { top_k: 5, allow_truncated_sampling: true } }, /^generation\.top_k: 5/],
    [{ generation: { top_p: 0.9, allow_truncated_sampling: true } }, /^generation\.top_p: 0\.9/],
    [{ actor: { entropy_coeff: 0.001 } }, /^actor\.entropy_coeff: 0\.001/],
    [{ actor: { ref_update_freq: 5, use_kl_loss: true } }, /^actor\.ref_update_freq: 5/],
    [{ trainer: { gradient_analysis_mode: true } }, /^trainer\.gradient_analysis_mode/],
    [{ diagnostics: { collapse: { multi_turn_enabled: true } } }, /^diagnostics\.collapse\.multi_turn_enabled/],
    [{ model: { lora: { rank: 4 } } }, /^model\.lora\.rank: 4/],
    [{ model: { learner: { api_key_env: "tml-abc.def" } } }, /^model\.learner\.api_key_env: expected the name/],
  ])("%j is refused with the nearest choice", (more, expected) => {
    const lines = ofLearner(more);
    expect(lines.join("\n")).toMatch(new RegExp(expected.source, "m"));
    expect(lines.join("\n")).not.toContain("tml-abc");
  });
});

describe("of a server that is known", () => {
  const cases: readonly (readonly [TinkerServerName, Tree, RegExp | null])[] = [
    ["skyrl-jax", {}, null],
    ["skyrl-jax", { actor: { grad_clip: 1 } }, /^actor\.grad_clip: 1: SkyRL \(JAX\)/],
    ["skyrl-jax", { pipeline: { mode: "async" } }, /^pipeline\.mode: async/],
    ["skyrl-jax", { pipeline: { mode: "async" }, model: { learner: { sessions: "snapshots" } } }, null],
    ["skyrl-jax", { model: { learner: { lora: { rank: 0 } } } }, /^model\.learner\.lora\.rank: 0/],
    ["skyrl-jax", { model: { learner: { lora: { train_mlp: false } } } }, /^model\.learner\.lora\.train_mlp: false/],
    ["thinking-machines", { actor: { grad_clip: 1 }, pipeline: { mode: "async" } }, null],
    ["skyrl-train", { actor: { grad_clip: 1 } }, null],
    ["skyrl-train", { actor: { grad_clip: 1, betas: [0.9, 0.95] } }, /^actor\.betas: \[0\.9, 0\.95\]/],
    ["skyrl-jax", { algorithm: { adv_estimator: "gae" } }, /^algorithm\.adv_estimator: gae.*nearest: grpo/],
    ["thinking-machines", { algorithm: { adv_estimator: "gae" } }, /^algorithm\.adv_estimator: gae/],
    ["skyrl-train", { actor: { grad_clip: 1 }, algorithm: { adv_estimator: "gae" } }, null],
    [
      "skyrl-train",
      { actor: { grad_clip: 1 }, critic: { layers: 2 }, algorithm: { adv_estimator: "gae" } },
      /^critic\.layers: 2/,
    ],
    [
      "skyrl-train",
      { actor: { grad_clip: 1 }, critic: { grad_clip: 0 }, algorithm: { adv_estimator: "gae" } },
      /^critic\.grad_clip: 0/,
    ],
    ["verl", {}, /^model\.learner\.lora\.rank: 32/],
    ["twinkle", {}, /^model\.learner\.reduction: auto/],
    ["other", { model: { learner: { reduction: "sum", sessions: "newest" } } }, null],
  ];
  it.each(cases)("%s: %j", (name, more, expected) => {
    const [line] = findUnsupported(tinkerConfig(more), name);
    if (expected === null) expect(line).toBeUndefined();
    else expect(line).toMatch(expected);
  });

  it("its ways are those of the run file where that says so", () => {
    expect(runTraits(tinkerConfig(), "skyrl-jax")).toEqual({
      name: "skyrl-jax",
      reduction: "mean",
      sessions: "newest",
    });
    const said = tinkerConfig({ model: { learner: { reduction: "sum", sessions: "snapshots" } } });
    expect(runTraits(said, "skyrl-jax")).toEqual({ name: "skyrl-jax", reduction: "sum", sessions: "snapshots" });
  });
});
