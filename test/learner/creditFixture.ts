/** The batch of test/fixtures/credit as the learner has it: episodes of one to three sequences, in three groups. */
import type { TokenBatch } from "../../src/domain/Batch.ts";
import type { Placement } from "../../src/domain/Placement.ts";
import { batchWith } from "../build/batches.ts";
import golden from "../fixtures/credit/credit.json" with { type: "json" };

const { batch } = golden;
const mask = Uint8Array.from(batch.mask);

export const fixture = (placement: Placement): TokenBatch =>
  batchWith({
    offsets: Int32Array.from(batch.offsets),
    mask,
    mu: Float32Array.from(batch.mu),
    rewards: Float32Array.from(batch.rewards[placement]),
    groups: Int32Array.from(batch.groups),
    members: Int32Array.from(batch.members),
    sequenceIndex: Int32Array.from(batch.sequenceIndex),
    placement,
  });

export const fixtureValues = Float32Array.from(batch.values);
export const fixtureProximal = Float32Array.from(batch.proximal);
