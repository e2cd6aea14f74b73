/** Credit does not depend on how a history is cut into sequences if turns carry their rewards. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { assignCredit } from "../../src/learner/credit.ts";
import { batchWith } from "../build/batches.ts";
import { configWith } from "../build/config.ts";
import { assertProperty } from "../property.ts";

const algorithm = configWith({ algorithm: { whiten: false } }).algorithm;

/** A sampled token, with what the batch and the critic say of it. */
interface Token {
  readonly value: number;
  readonly mu: number;
  readonly proximal: number;
}
interface Turn {
  readonly tokens: readonly Token[];
  readonly reward: number;
}

const number = fc.integer({ min: -16, max: 16 }).map((n) => n / 8);
const token = fc.record({ value: number, mu: number, proximal: number });
const turns = fc.array(fc.record({ tokens: fc.array(token, { minLength: 1, maxLength: 4 }), reward: number }), {
  minLength: 1,
  maxLength: 6,
});

/** One episode whose turns lie in sequences that end at the turns marked; every turn is behind one shown id. */
const batchOf = (playedTurns: readonly Turn[], endsAt: readonly boolean[]) => {
  const all = playedTurns.flatMap(({ reward, tokens }) => [
    { mask: 0, value: 9, mu: 0, proximal: 9, reward: 0 },
    ...tokens.map((each, t) => ({ ...each, mask: 1, reward: t === tokens.length - 1 ? reward : 0 })),
  ]);
  const lengths = playedTurns.map(({ tokens }) => tokens.length + 1);
  const ends = lengths.map((_, turn) => lengths.slice(0, turn + 1).reduce((a, b) => a + b, 0));
  const offsets = [0, ...ends.filter((_, turn) => endsAt[turn] === true || turn === ends.length - 1)];
  const count = offsets.length - 1;
  const batch = batchWith({
    offsets: Int32Array.from(offsets),
    mask: Uint8Array.from(all, ({ mask }) => mask),
    mu: Float32Array.from(all, ({ mu }) => mu),
    rewards: Float32Array.from(all, ({ reward }) => reward),
    placement: "turn",
    members: new Int32Array(count),
    sequenceIndex: Int32Array.from({ length: count }, (_, i) => i),
  });
  const values = Float32Array.from(all, ({ value }) => value);
  return { batch, prepared: { values, rewards: batch.rewards, proximal: Float32Array.from(all, (t) => t.proximal) } };
};

it.each([
  ["gae", { gamma: 0.5, lam: 0.75 }],
  ["bi-level gae", { gamma: 0.5, lam: 0.75, high_level_gamma: 0.25, bi_level_gae: true }],
  ["V-trace", { correction: "vtrace", lam: 0.75, high_level_gamma: 0.5 }],
  ["reinforce_plus_plus", { adv_estimator: "reinforce_plus_plus", gamma: 0.5 }],
  ["arpo", { adv_estimator: "arpo" }],
] satisfies readonly (readonly [string, Partial<RunConfig["algorithm"]>])[])(
  "%s credits a token the same, whichever sequence it was sampled in",
  (_, change) => {
    const options = { algorithm: { ...algorithm, ...change }, lossScaling: "none" as const };
    assertProperty(
      fc.property(turns, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (playedTurns, endsAt) => {
        const [one, several] = [batchOf(playedTurns, []), batchOf(playedTurns, endsAt)];
        const [whole, cut] = [one, several].map(({ batch, prepared }) => assignCredit(batch, prepared, options));
        expect(cut?.advantages).toEqual(whole?.advantages);
        expect(cut?.returns).toEqual(whole?.returns);
      }),
    );
  },
);
