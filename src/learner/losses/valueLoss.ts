/**
 * The critic's loss as a tensor graph over target tokens: a scalar of new values, values at consumption and returns. Invariant: a token of
 * weight 0 does not contribute.
 */
import { add, maximum, minimum, mul, square, sub } from "../../model/tensor/Elementwise.ts";
import type { Tensor } from "../../model/tensor/Graph.ts";
import { weightedSum } from "./policyLoss.ts";

export interface ValueLossInputs {
  readonly values: Tensor;
  /** Values at consumption, around which the new ones are clipped. */
  readonly old: Tensor;
  readonly returns: Tensor;
  readonly weights: Tensor;
}

/** Weighted sum of 0.5 max((v - R)^2, (clip(v, old ± range) - R)^2). */
export const valueLoss = ({ values, old, returns, weights }: ValueLossInputs, range: number): Tensor => {
  const clipped = minimum(maximum(values, sub(old, range)), add(old, range));
  const worse = maximum(square(sub(values, returns)), square(sub(clipped, returns)));
  return weightedSum(mul(worse, 0.5), weights);
};
