/**
 * Groups of a window as a batch with credit: their tokens, what the learner's networks say of them, and the advantages. Invariant: the learner
 * has prepared this batch last.
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { trainedTokens } from "../domain/Batch.ts";
import type { ScoredGroup } from "../domain/Group.ts";
import { timed } from "../flow/timed.ts";
import { collate } from "./collate.ts";
import { credit } from "./credit.ts";
import { Learner } from "./Learner.ts";
import { withoutNetworks } from "./Prepared.ts";

export interface Assigned {
  /** Index of the window. */
  readonly window: number;
  readonly kept: readonly ScoredGroup[];
  /** Share of the window's groups that are kept. */
  readonly keptRatio: number;
  /** Ids of a prompt that are not trained on where the environment's text is (`Rollout.unseen`). */
  readonly unseen: Parameters<typeof collate>[1]["unseen"];
}

/** Null where nothing was sampled. Seconds of what did not take place are undefined. */
export const assign = Effect.fnUntraced(function* (config: RunConfig, { kept, ...of }: Assigned) {
  const learner = yield* Learner;
  const tokens = collate(kept, { ...of, temperature: config.generation.temperature });
  if (trainedTokens(tokens) === 0) return null;
  const known = withoutNetworks(config.algorithm, tokens);
  const [prepared, values] = known === null ? yield* timed(learner.prepare(tokens)) : [known, undefined];
  const options = { algorithm: config.algorithm, lossScaling: config.filter.loss_scaling };
  const [batch, advantages] = yield* timed(Effect.sync(() => credit(tokens, prepared, options)));
  return { batch, seconds: { values, advantages } };
});
