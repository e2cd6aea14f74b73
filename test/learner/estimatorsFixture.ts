/** The window of test/fixtures/estimators as the learner has it, and how its goldens, of trained tokens alone, are compared. */
import { expect } from "vitest";
import type { TokenBatch } from "../../src/domain/Batch.ts";
import { type Metrics, toRecord } from "../../src/domain/metrics/Metrics.ts";
import type { Placement } from "../../src/domain/Placement.ts";
import { batchWith } from "../build/batches.ts";
import golden from "../fixtures/estimators/estimators.json" with { type: "json" };

const { batch } = golden;
const mask = Uint8Array.from(batch.mask);
const trained = [...mask.keys()].filter((t) => mask[t] === 1);

/** Values of trained tokens on the positions of the batch, `filler` at the others. */
const placed = (values: readonly number[], filler = 0): Float32Array => {
  const positions = new Float32Array(mask.length).fill(filler);
  for (const [i, t] of trained.entries()) positions[t] = values[i]!;
  return positions;
};

export const window = (placement: Placement): TokenBatch =>
  batchWith({
    offsets: Int32Array.from(batch.offsets),
    mask,
    mu: placed(batch.mu),
    versions: Int32Array.from(placed(batch.versions, -1)),
    rewards: placed(batch.rewards[placement]),
    groups: Int32Array.from(batch.groups),
    members: Int32Array.from(batch.members),
    sequenceIndex: Int32Array.from(batch.sequenceIndex),
    placement,
  });

// Values at untrained positions must not change the result.
const FILLER = 7;
export const values = placed(batch.values, FILLER);
export const proximal = placed(batch.proximal, FILLER);
export const logp = placed(batch.logp, FILLER);
export const reference = placed(batch.reference, FILLER);

export const placements: readonly Placement[] = ["turn", "sequence"];

/** Expects the trained tokens to have the expected values, within float32, and all others to have `elsewhere`. */
export const expectTokens = (actual: ArrayLike<number>, expected: readonly number[], elsewhere = 0): void => {
  expect(actual.length).toBe(mask.length);
  const all = placed(expected, elsewhere);
  for (const [t, value] of all.entries()) expectNear(actual[t], value, `at ${t}`);
};

export const expectNear = (actual: number | undefined, expected: number, what?: string): void => {
  expect(Math.abs((actual ?? Number.NaN) - expected), what).toBeLessThanOrEqual(2e-6 * Math.max(1, Math.abs(expected)));
};

/** Metrics have the values expected by name; others may be there too. */
export const expectMetrics = (metrics: Metrics, expected: Readonly<Record<string, number>>): void => {
  const record = toRecord(metrics);
  for (const [name, value] of Object.entries(expected)) expectNear(record[name], value, name);
};
