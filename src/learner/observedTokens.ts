/**
 * Tokens that the environment showed and the policy is trained to predict (`rollout.enable_response_mask: false`). Nobody sampled them, so
 * they have no mu. Invariants: their ratio is taken against the policy as it was at the update's start, and their importance weight is 1;
 * what compares the policy that sampled with the one that trains leaves them out.
 */
import { isSampled, type TokenBatch } from "../domain/Batch.ts";

type Tokens = Pick<TokenBatch, "mask" | "versions">;

/** The batch with only sampled tokens as its trained ones; the very same batch where it has no others. */
export const sampledOnly = <B extends Tokens>(batch: B): B =>
  batch.mask.some((trained, t) => trained !== 0 && !isSampled(batch, t))
    ? { ...batch, mask: batch.mask.map((_, t) => (isSampled(batch, t) ? 1 : 0)) }
    : batch;

/** mu, with `proximal` [tokens], the policy at the update's start, where nothing was sampled. [tokens] */
export const muOrProximal = (
  { mu, versions }: Pick<TokenBatch, "mu" | "versions">,
  proximal: Float32Array,
): Float32Array => mu.map((value, t) => ((versions[t] ?? -1) < 0 ? proximal[t]! : value));
