/** The contract suite over every preset, which covers every registered environment. */
import { describe, expect, it } from "vitest";
import { environmentTypes } from "../../../src/env/games/registry.ts";
import { contract } from "../contract/contract.ts";
import type { Act } from "../contract/players.ts";
import { anyPreset, elsewhere, preset, presets } from "../contract/presets.ts";
import { answer } from "./countdown/answers.ts";
import { reply } from "./search/replies.ts";
import { sequence } from "./spatial/sequences.ts";
import { attempt } from "./static_qa/answers.ts";
import { placement } from "./sudoku/placements.ts";

/** The keys that make an environment's transitions certain. */
const certainty: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  frozen_lake: { success_rate: 1 },
};

/** Samples of what a model may write, where actions are free text. */
const acts: Readonly<Record<string, Act>> = {
  countdown: answer,
  metamathqa: attempt,
  search: reply,
  static_qa: attempt,
  spatial: sequence,
  sudoku: placement,
};

for (const [tag, { env_type, max_actions_per_traj }] of Object.entries(presets)) {
  if (elsewhere.has(tag)) continue;
  contract(tag, {
    environment: anyPreset(tag),
    certain: anyPreset(tag, certainty[env_type]),
    actions: 4 * max_actions_per_traj,
    act: acts[env_type],
  });
}

contract("Sokoban with its default three boxes", {
  environment: preset("SimpleSokoban", { num_boxes: 3, max_steps: 12 }),
  certain: preset("SimpleSokoban", { num_boxes: 3 }),
  actions: 12,
});

describe("the presets", () => {
  it("cover every registered environment", () => {
    expect(new Set(Object.values(presets).map(({ env_type }) => env_type))).toEqual(new Set(environmentTypes));
  });
});
