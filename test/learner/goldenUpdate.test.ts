/**
 * The results of two updates, one under default options, one with a KL loss and a correction. Sketches of the numbers are compared, because
 * the last bits depend on the processor.
 */
import { describe, expect, it } from "vitest";
import { Trainer } from "../../src/learner/Trainer.ts";
import type { TrainerOptions } from "../../src/learner/TrainerOptions.ts";
import { creditedBatch } from "../build/batches.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";

const { actor, algorithm } = trainerOptions;
const cases: readonly (readonly [string, Partial<TrainerOptions>, readonly number[]])[] = [
  [
    "defaults",
    {},
    [
      1.4955125, -1.1695362, -2.690244, -0.2428923, -0.0701685, 0.0800445, 1.4171661, -1.0517558, -2.567301, 0.0494009,
      -0.0086455, -0.018515,
    ],
  ],
  [
    "a KL loss and a correction",
    {
      actor: { ...actor, use_kl_loss: true, kl_loss_coef: 0.1 },
      algorithm: { ...algorithm, correction: "decoupled" },
    },
    [
      1.3710786, -1.1873067, -2.6356168, -0.2255882, -0.0555882, -0.0048427, 1.4171661, -1.0517558, -2.567301,
      0.0494009, -0.0086455, -0.018515,
    ],
  ],
];

/** Sums of an array's numbers, each with waves of its own as weights. */
const sketch = (values: Float32Array): readonly number[] =>
  [1, 2, 3].map((wave) => values.reduce((sum, value, i) => sum + value * Math.sin(wave * (i + 1)), 0));

describe("two updates end where they did", () => {
  it.each(cases)("%s", async (_, options, expected) => {
    await using trainer = await Trainer.open(tiny, tinyParameters(), { ...trainerOptions, ...options });
    for (const window of [0, 1]) {
      const batch = creditedBatch({
        seed: window,
        window,
        lengths: [20, 31, 9, 17, 24, 12],
        vocabulary: tiny.vocabSize,
      });
      await trainer.update({ ...batch, values: await trainer.values(batch) });
    }
    const arrays = [trainer.networks.actor, trainer.networks.critic!].flatMap(({ moments, parameters }) => [
      parameters.flat,
      moments.first,
    ]);
    const sketches = arrays.flatMap(sketch);
    expect(sketches).toEqual(expected.map((value) => expect.closeTo(value, 5)));
  });
});
