/**
 * Tokens of the environment that the policy is trained to predict (`rollout.enable_response_mask: false`). Nobody sampled them, so they
 * have no mu. Invariants: their ratio is taken against the policy at the update's start and their importance weight is 1; statistics of
 * sampler against learner leave them out.
 */
import { isSampled, type TokenBatch } from "../domain/Batch.ts";

type Tokens = Pick<TokenBatch, "mask" | "versions">;

/** Returns the batch with only sampled tokens trained; the same object if it has no others. */
export const sampledOnly = <B extends Tokens>(batch: B): B =>
  batch.mask.some((trained, t) => trained !== 0 && !isSampled(batch, t))
    ? { ...batch, mask: batch.mask.map((_, t) => (isSampled(batch, t) ? 1 : 0)) }
    : batch;

/** Returns mu, with the policy at the update's start (`proximal`, [tokens]) for tokens that nobody sampled. [tokens] */
export const muOrProximal = (
  { mu, versions }: Pick<TokenBatch, "mu" | "versions">,
  proximal: Float32Array,
): Float32Array => mu.map((value, t) => ((versions[t] ?? -1) < 0 ? proximal[t]! : value));
