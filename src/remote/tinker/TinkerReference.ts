/**
 * The reference policy of a run that a Tinker server trains: log-probabilities of prompts under the base model. Invariant: it is used only
 * after a probe has shown that its requests leave the model in training unchanged (probes.ts).
 */
import { Effect } from "effect";
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import type { TrainedReference } from "../../learner/TrainedPolicy.ts";
import type { RunOperation } from "./operationRunner.ts";
import type { TinkerModel } from "./TinkerModel.ts";

/** Sequences that are scored at once. */
const AT_ONCE = 32;

export const make = (model: TinkerModel, run: RunOperation): TrainedReference => ({
  score: async (batch: TokenBatch) => {
    const into = new Float32Array(batch.ids.length);
    const bounds = allSequences(batch)
      .map((sequence) => boundsOf(batch, sequence))
      .filter(([from, to]) => to - from > 1);
    const scores = await run(
      Effect.forEach(bounds, ([from, to]) => model.baseLogProbs(batch.ids.subarray(from, to)), {
        concurrency: AT_ONCE,
      }),
    );
    for (const [i, [from, to]] of bounds.entries()) {
      for (let t = from + 1; t < to; t++) if (batch.mask[t] !== 0) into[t] = scores[i]?.[t - from - 1] ?? Number.NaN;
    }
    return into;
  },
  renew: () => {
    throw new Error("the base model of a training server stays as it is");
  },
});
