/**
 * The reference policy of a run that a Tinker server trains: the base model, asked for the log-probabilities of prompts. Invariant: it is asked only
 * where a probe has shown that this does not change the model in training (probes.ts).
 */
import { Effect } from "effect";
import { allSequences, boundsOf, type TokenBatch } from "../../domain/Batch.ts";
import type { TrainedReference } from "../../learner/TrainedPolicy.ts";
import type { Model } from "./Model.ts";
import type { Run } from "./run.ts";

/** Sequences that are asked about at once. */
const AT_ONCE = 32;

export const make = (model: Model, run: Run): TrainedReference => ({
  score: async (batch: TokenBatch) => {
    const into = new Float32Array(batch.ids.length);
    const bounds = allSequences(batch)
      .map((sequence) => boundsOf(batch, sequence))
      .filter(([from, to]) => to - from > 1);
    const found = await run(
      Effect.forEach(bounds, ([from, to]) => model.base(batch.ids.subarray(from, to)), { concurrency: AT_ONCE }),
    );
    for (const [i, [from, to]] of bounds.entries()) {
      for (let t = from + 1; t < to; t++) if (batch.mask[t] !== 0) into[t] = found[i]?.[t - from - 1] ?? Number.NaN;
    }
    return into;
  },
  renew: () => {
    throw new Error("the base model of a training server stays as it is");
  },
});
