/** Metric names that must compile, and others that must not: `tsc` is the test. */
import type { MetricKey } from "../../src/domain/metrics/Catalogue.ts";

export const named: readonly MetricKey[] = [
  "train/success",
  "val-env/success",
  "actor/entropy_loss",
  "train/FrozenLake/success",
  "stage/rollout/busy",
  "ledger/tokens/admitted",
  // @ts-expect-error: a misspelt name
  "train/sucess",
  // @ts-expect-error: no such split
  "test/success",
  // @ts-expect-error: a misspelt learner metric
  "actor/entropie_loss",
];
