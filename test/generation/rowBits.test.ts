import { describe, expect, it } from "vitest";
import { bitsLine } from "../../pipelines/devices.ts";
import type { LanguageModel, ModelOutputs } from "../../src/generation/LanguageModel.ts";
import { type Form, formThatDiffers, probeRowBits } from "../../src/generation/RowBits.ts";
import { familyDefaults } from "../../src/model/graphs/Architecture.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { computations } from "./settings.ts";
import { tiny, weightsOf, withModel } from "./support.ts";

/** Changes the last bits of one key of the first row where the batch is large. */
const rounded = async (making: Promise<ModelOutputs>): Promise<ModelOutputs> => {
  const extended = await making;
  const [keys] = extended.keys;
  if (keys !== undefined && extended.logits.length > 2 * tiny.vocabSize) keys[0] = keys[0]! * (1 + 2 ** -22);
  return extended;
};

/** A model whose rows depend on their batch in one form. */
const broken = <W>(model: LanguageModel<W>, form: Form): LanguageModel<W> => {
  switch (form) {
    case "prefill":
      return { ...model, prefill: (...args) => rounded(model.prefill(...args)) };
    case "extend":
      return { ...model, extend: (...args) => rounded(model.extend(...args)) };
    case "step":
      return { ...model, step: (...args) => rounded(model.step(...args)) };
  }
};

describe("the probe of a machine's bits", () => {
  it.each(computations)("finds nothing where a row's bits do not depend on its batch$label", async (computation) => {
    expect(await probeRowBits(tiny, computation)).toBeUndefined();
  });

  it.each(computations)("finds nothing at the widths of a real model$label", async (computation) => {
    const widths = { hiddenSize: 576, intermediateSize: 1536, heads: 9, kvHeads: 3, headDim: 64 };
    expect(await probeRowBits({ ...tiny, ...familyDefaults.llama, ...widths }, computation)).toBeUndefined();
  });

  it("is said in one sentence, and only where it finds something", () => {
    expect(bitsLine("step")).toMatch(/^[^.]*rounds a row of a step [^.]*: the same seed does not give the same bits$/);
    expect(bitsLine(undefined)).toBeUndefined();
  });

  it.each<Form>(["prefill", "extend", "step"])("names %s where its rows round otherwise among many", (form) =>
    withModel(async (model) => {
      const weights = model.weights(0, fullPayload(weightsOf(0).flat));
      expect(await formThatDiffers(model, weights)).toBeUndefined();
      expect(await formThatDiffers(broken(model, form), weights)).toBe(form);
    }),
  );
});
