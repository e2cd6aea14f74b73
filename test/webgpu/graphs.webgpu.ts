/** Every graph of the product gives on WebGPU what it gives on the CPU. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { policyLosses } from "../../src/learner/losses/policyLoss.ts";
import { actorModel, cloningModel, criticModel, policyLossOptions, valuesModel } from "../../src/learner/models.ts";
import { adamWModel } from "../../src/learner/optimiser/adamWModel.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { crossScoreModel } from "../../src/model/graphs/CrossScore.ts";
import { extendModel, prefillModel, stepModel } from "../../src/model/graphs/Decode.ts";
import { scoreModel } from "../../src/model/graphs/Score.ts";
import type { Session } from "../../src/model/runtime/Session.ts";
import type { OnnxModel } from "../../src/model/tensor/Onnx.ts";
import { actorDefaults, algorithmDefaults } from "../learner/model.ts";
import { tiny } from "../model/tiny.ts";
import { apart, heldDevice } from "./compared.ts";

let deviceSession: Session | undefined;
beforeAll(async () => {
  deviceSession = await heldDevice();
});
afterAll(() => deviceSession?.close());

const losses = (Object.keys(policyLosses) as (keyof typeof policyLosses)[]).map((loss) => {
  const actor = { ...actorDefaults, policy_loss: loss, use_kl_loss: true, entropy_coeff: 0.01 };
  return [`actor, ${loss}`, () => actorModel(tiny, policyLossOptions(actor, algorithmDefaults))] as const;
});

const shared = { targets: 64, recompute: "nothing", shared: true } as const;

const withAdapter: DecoderConfig = {
  ...tiny,
  adapter: { rank: 3, alpha: 6, targets: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"] },
};

const adamw = { betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0.01, gradClip: 1 } as const;

const models: readonly (readonly [string, () => OnnxModel])[] = [
  ["score", () => scoreModel(tiny)],
  ["crossScore", () => crossScoreModel(tiny)],
  ["prefill", () => prefillModel(tiny)],
  ["extend", () => extendModel(tiny)],
  ["step", () => stepModel(tiny)],
  ...losses,
  [
    "actor, shared prompts",
    () => actorModel(tiny, policyLossOptions(actorDefaults, algorithmDefaults), undefined, shared),
  ],
  ["critic", () => criticModel(tiny, 0.2)],
  ["critic, shared prompts", () => criticModel(tiny, 0.2, undefined, shared)],
  ["values", () => valuesModel(tiny)],
  ["cloning", () => cloningModel(tiny)],
  ["score, with an adapter", () => scoreModel(withAdapter)],
  [
    "actor, with an adapter",
    () => actorModel(withAdapter, policyLossOptions({ ...actorDefaults, use_kl_loss: true }, algorithmDefaults)),
  ],
  ["critic, with an adapter", () => criticModel(withAdapter, 0.2)],
  ["values, with an adapter", () => valuesModel(withAdapter)],
  ["cloning, with an adapter", () => cloningModel(withAdapter)],
  ["AdamW", () => adamWModel(1000, adamw)],
];

it.each(models)("%s agrees with the CPU to 1e-3", async (_, model) => {
  for (const [output, difference] of Object.entries(await apart(model(), tiny.vocabSize)))
    expect(difference, output).toBeLessThan(1e-3);
});
