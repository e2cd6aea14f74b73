/** A run whose slots run out computes what a run with slots enough computes, to the bit. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { hasExactInt8 } from "../../src/model/runtime/exactInt8.ts";
import { trainedRun } from "./trained.ts";

/** A validation beside the rollouts after every step, for which few slots do not suffice. */
const validating = {
  trainer: { total_training_steps: 3, test_freq: 1, trajectory_freq: 0 },
  es_manager: { val: { env_groups: 12, n_groups: [12] } },
  rollout: { max_turn: 4 },
} satisfies Tree;

const few: Tree = { generation: { slots: 3 } };
const enough: Tree = { generation: { slots: 32 } };

interface Setting {
  readonly name: string;
  readonly changes: Tree;
}

const settings: readonly Setting[] = [
  { name: "sync", changes: {} },
  {
    name: "lockstep, recomputed",
    changes: { pipeline: { mode: "lockstep" }, generation: { kv_on_update: "recompute" } },
  },
  { name: "two generator threads", changes: { model: { generator_threads: 2 }, generation: { slots: 2 } } },
  { name: "an adapter", changes: { model: { lora: { rank: 4, alpha: 8 } } } },
  {
    name: "openings that are not shared, in short prefills",
    changes: { es_manager: { train: { group_size: 2 } }, generation: { prefill_tokens: 32 } },
  },
  {
    name: "a context of the last turns",
    changes: { rollout: { context: "limited_multi_turn", max_context_window: 3 } },
  },
  // A chat must hold two turns: one that opens with every turn has no tokens that came in another form before.
  { name: "dropped turns", changes: { rollout: { max_turn: 6, max_model_len: 150, overflow: "drop" } } },
  { name: "8-bit weights", changes: { model: { generator_dtype: "int8" } } },
];

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;
const exact = await hasExactInt8();

describe("a run whose slots run out", () => {
  for (const { changes, name } of settings)
    it.live.skipIf(name === "8-bit weights" && !exact)(
      `computes the same bits as one with slots enough: ${name}`,
      () =>
        Effect.scoped(
          Effect.gen(function* () {
            const given = merge(validating, changes);
            const cramped = yield* trainedRun(merge(few, given));
            const roomy = yield* trainedRun(merge(given, enough));
            expect(cramped.refilledTokens).toBeGreaterThan(0);
            expect(roomy.refilledTokens).toBe(0);
            expect([cramped.hash, cramped.records]).toEqual([roomy.hash, roomy.records]);
          }),
        ),
      patience,
    );
});
