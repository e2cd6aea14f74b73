import { afterAll, beforeAll, expect, it } from "vitest";
import type { CreditedBatch } from "../../../../src/domain/Batch.ts";
import { stream } from "../../../../src/domain/Random.ts";
import { open } from "../../../../src/generation/OnnxModel.ts";
import { Trainer } from "../../../../src/learner/Trainer.ts";
import { useRuntime } from "../../../../src/model/runtime/Session.ts";
import { fullPayload } from "../../../../src/model/weights/Weights.ts";
import { batchWith } from "../../../build/batches.ts";
import { tiny, tinyParameters, trainerOptions } from "../../../learner/model.ts";
import { logProbabilities } from "../../tiny.ts";

const PROMPT = [3, 1, 4, 1];
const ARMS = { better: 5, worse: 9 } as const;
const ROWS = 32;
const LENGTH = PROMPT.length + 1;

beforeAll(() => useRuntime("tfjs"));
afterAll(() => useRuntime("onnx"));

/** One reply of one token to the prompt in each row: the better arm is paid, and the mean of the window is its baseline. */
const windowOf = (window: number, logits: Float32Array): { readonly batch: CreditedBatch; readonly paid: number } => {
  const random = stream({ seed: 5, purpose: "play", counters: [window] });
  const logp = logProbabilities(logits.subarray(0, tiny.vocabSize));
  const draw = (): number => {
    let left = random.uniform();
    for (const [token, one] of logp.entries()) {
      left -= Math.exp(one);
      if (left < 0) return token;
    }
    return 0;
  };
  const tokens = Array.from({ length: ROWS }, draw);
  const rewards = tokens.map((token): number => (token === ARMS.better ? 1 : token === ARMS.worse ? 0.2 : 0));
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / ROWS;
  const atReply = (values: readonly number[]): Float32Array => {
    const all = new Float32Array(ROWS * LENGTH);
    for (const [row, value] of values.entries()) all[(row + 1) * LENGTH - 1] = value;
    return all;
  };
  const rows = Array.from({ length: ROWS }, (_, row) => row);
  const batch: CreditedBatch = {
    ...batchWith({
      window,
      ids: Int32Array.from(tokens.flatMap((token) => [...PROMPT, token])),
      offsets: Int32Array.from({ length: ROWS + 1 }, (_, row) => row * LENGTH),
      mask: Uint8Array.from(atReply(rows.map(() => 1))),
      mu: atReply(tokens.map((token) => logp[token]!)),
      versions: Int32Array.from(atReply(rows.map(() => window + 1)), (version) => version - 1),
      rewards: atReply(rewards),
    }),
    advantages: atReply(rewards.map((reward) => reward - mean)),
    values: new Float32Array(ROWS * LENGTH),
    returns: atReply(rewards),
  };
  return { batch, paid: tokens.filter((token) => token === ARMS.better).length / ROWS };
};

it("a policy that generates and learns on tfjs learns which arm pays", async () => {
  const model = await open(tiny);
  const actor = { ...trainerOptions.actor, lr: 2e-2, ppo_mini_batch_size: ROWS, micro_batch_tokens: 1024 };
  await using trainer = await Trainer.open(tiny, tinyParameters(), {
    ...trainerOptions,
    actor,
    algorithm: { ...trainerOptions.algorithm, adv_estimator: "grpo" },
  });
  const paid: number[] = [];
  for (let window = 0; window < 12; window += 1) {
    const weights = model.weights(window, fullPayload(trainer.networks.actor.parameters.flat));
    const ids = BigInt64Array.from([...PROMPT, ...PROMPT], BigInt);
    const { logits } = await model.prefill(weights, { ids, time: 4, lengths: BigInt64Array.of(4n, 4n) });
    const { batch, paid: share } = windowOf(window, logits);
    paid.push(share);
    await trainer.update(batch);
  }
  await model.close();
  expect(paid[0]).toBeLessThan(0.3);
  expect(paid.at(-1)).toBeGreaterThan(0.9);
});
