/** A model as a GPU takes it computes what the model computes, in operators that stay on the device. */
import { expect, it } from "vitest";
import { actorModel, criticModel, policyLossOptions } from "../../../src/learner/models.ts";
import { crossScoreModel } from "../../../src/model/graphs/CrossScore.ts";
import { extendModel, prefillModel, stepModel } from "../../../src/model/graphs/Decode.ts";
import { Session } from "../../../src/model/runtime/Session.ts";
import { deviceForm } from "../../../src/model/tensor/DeviceForm.ts";
import type { OnnxModel } from "../../../src/model/tensor/Onnx.ts";
import { actorDefaults, algorithmDefaults } from "../../learner/model.ts";
import { differences, feedsOf } from "../../webgpu/compared.ts";
import { tiny } from "../tiny.ts";

const models: readonly (readonly [string, () => OnnxModel])[] = [
  ["prefill", () => prefillModel(tiny)],
  ["extend", () => extendModel(tiny)],
  ["step", () => stepModel(tiny)],
  ["crossScore", () => crossScoreModel(tiny)],
  ["actor", () => actorModel(tiny, policyLossOptions(actorDefaults, algorithmDefaults))],
  ["critic", () => criticModel(tiny, 0.2)],
  [
    "critic with shared prompts",
    () => criticModel(tiny, 0.2, undefined, { targets: 64, recompute: "nothing", shared: true }),
  ],
];

it.each(models)("%s has the same outputs", async (_, model) => {
  const feeds = feedsOf(model(), tiny.vocabSize);
  await using given = await Session.open(model());
  await using formed = await Session.open(deviceForm(model()));
  using expected = await given.run(feeds);
  using actual = await formed.run(feeds);
  for (const [output, difference] of Object.entries(differences(expected, actual)))
    expect(difference, output).toBeLessThan(1e-5);
});

it.each(models)("%s leaves nothing to the CPU that is large", (_, model) => {
  const { nodes } = deviceForm(model());
  const types = nodes.map(({ type }) => type);
  expect(types).not.toContain("FusedMatMul");
  expect(types).not.toContain("LogSoftmax");
  expect(nodes.filter(({ outputs }) => outputs.length > 1).map(({ type }) => type)).not.toContain(
    "SimplifiedLayerNormalization",
  );
});
