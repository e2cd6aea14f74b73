/** A whole run with a sequence loss, the divergence in the reward and the loss, a reference that is renewed, and the environment's tokens. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

const changes = (steps: number): Tree => ({
  trainer: { total_training_steps: steps, save_freq: 1, trajectory_freq: 0 },
  rollout: { enable_response_mask: false },
  algorithm: {
    use_kl_in_reward: true,
    kl_penalty: "k3",
    kl_ctrl: { type: "adaptive", kl_coef: 0.2, target_kl: 0.001, horizon: 80 },
  },
  actor: {
    policy_loss: "gspo",
    loss_agg_mode: "seq-mean-token-mean",
    use_kl_loss: true,
    kl_loss_coef: 0.1,
    kl_loss_type: "k3+",
    ref_update_freq: 2,
  },
});

/** Trains a run and gives its folder. */
const trained = Effect.fnUntraced(function* (steps: number) {
  const dir = yield* Effect.tap(temporaryFolder, writeModel);
  let folder = "";
  const onStart = (run: { readonly folder: string }): void => {
    folder = run.folder;
  };
  yield* train({ config: tinyConfig(dir, changes(steps)), resume: null, parts: { onStart } });
  return { dir, folder };
});

const records = (folder: string) =>
  Effect.promise(async () => {
    const lines = (await readFile(join(folder, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
    return lines.map((line): Record<string, number> => JSON.parse(line));
  });

const hash = (folder: string, step: number) => parameterHash(join(folder, "checkpoints", `step-${step}`));

it.live(
  "trains, tells the divergence, and goes on from the middle bit for bit",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const whole = yield* trained(4);
        const cut = yield* trained(3);
        yield* train({ config: tinyConfig(cut.dir, changes(4)), resume: cut.folder });
        expect(yield* hash(cut.folder, 4)).toBe(yield* hash(whole.folder, 4));
        expect(yield* hash(cut.folder, 4)).not.toBe(yield* hash(whole.folder, 3));

        const steps = yield* records(whole.folder);
        const penalties = steps.map((step) => step["actor/reward_kl_penalty"]!);
        // The reference of the first window, and of the third, is the policy that sampled it.
        expect([penalties[0]! < 1e-6, penalties[1]! > 1e-6, penalties[2]! < 1e-6]).toEqual([true, true, true]);
        const coefficients = steps.map((step) => step["actor/reward_kl_penalty_coeff"]!);
        expect(coefficients[0]).toBe(0.2);
        expect(coefficients[1]).toBeLessThan(0.2);
        expect(steps.every((step) => step["actor/kl_loss"]! >= 0)).toBe(true);
        const resumed = yield* records(cut.folder);
        expect(resumed[3]!["actor/reward_kl_penalty_coeff"]).toBe(coefficients[3]);
      }),
    ),
  240_000,
);
