import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokenBatch } from "../../src/domain/Batch.ts";
import { blocksOf, type CrossRequest, crossTokens } from "../../src/domain/CrossScores.ts";
import { stream } from "../../src/domain/Random.ts";
import { crossScores, type ScoringHost } from "../../src/learner/ContinuationScorer.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { batchWith } from "../build/batches.ts";
import { assertProperty } from "../property.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";

const random = stream({ seed: 5, purpose: "play", counters: [] });
const drawn = (length: number): Int32Array => Int32Array.from({ length }, () => random.int(tiny.vocabSize));

const request: CrossRequest = {
  prompts: [drawn(3), drawn(17), drawn(1)],
  continuations: [drawn(4), drawn(1), drawn(9), drawn(2)],
  temperature: 0.7,
  passTokens: 24,
  givesWay: false,
};

/** Prompt and continuation as a sequence of their own, of which the continuation is trained on. */
const plain = (prompt: Int32Array, continuation: Int32Array): TokenBatch => {
  const length = prompt.length + continuation.length;
  return batchWith({
    ids: Int32Array.from([...prompt, ...continuation]),
    offsets: Int32Array.of(0, length),
    mask: new Uint8Array(length).fill(1, prompt.length),
    temperature: request.temperature,
  });
};

const sum = (values: Float32Array): number => values.reduce((total, value) => total + value, 0);

describe("continuations behind prompts that they share", () => {
  it("score as they do in sequences of their own", async () => {
    await using trainer = await Trainer.open(tiny, tinyParameters(), trainerOptions);
    const host: ScoringHost = {
      runInOrder: (work) => work(),
      updateCommands: () => 0,
      isCancelled: () => false,
      version: () => trainer.state.version,
      score: (...args) => trainer.networks.continuationLogProbs(...args),
    };
    const { rows, sums, version } = await crossScores(request, host);
    expect([rows, version, sums.length]).toEqual([4, 0, 12]);
    for (const [i, continuation] of request.continuations.entries()) {
      for (const [j, prompt] of request.prompts.entries()) {
        const expected = sum(await trainer.logp(plain(prompt, continuation)));
        expect(Math.abs(sums[i * 3 + j]! - expected)).toBeLessThan(1e-4);
      }
    }
  });
});

describe("a scoring", () => {
  /** A host whose passes do nothing but count, and what happens after each of them. */
  const counting = (after: (pass: number, state: { version: number; demands: number }) => void) => {
    const state = { version: 3, demands: 7 };
    let passes = 0;
    const host: ScoringHost = {
      runInOrder: (work) => work(),
      updateCommands: () => state.demands,
      isCancelled: () => false,
      version: () => state.version,
      score: async (_, continuations) => {
        after(++passes, state);
        return continuations.map(({ length }) => -length);
      },
    };
    return { host, passes: () => passes };
  };
  const blocks = blocksOf([3, 17, 1], [4, 1, 9, 2], 24);

  it("goes block by block, each behind every prompt", async () => {
    expect(blocks).toEqual([
      [0, 2],
      [2, 3],
      [3, 4],
    ]);
    const { host, passes } = counting(() => {});
    const { rows, sums } = await crossScores(request, host);
    expect([rows, passes()]).toEqual([4, 9]);
    expect([...sums]).toEqual([-4, -4, -4, -1, -1, -1, -9, -9, -9, -2, -2, -2]);
  });

  it("gives way to an update after the pass under way, with the rows that are whole", async () => {
    const given = { ...request, givesWay: true };
    const { host, passes } = counting((pass, state) => {
      if (pass === 5) state.demands++;
    });
    expect(await crossScores(given, host)).toMatchObject({ rows: 2, version: 3 });
    expect(passes()).toBe(5);
  });

  it("does not give way where it is waited for", async () => {
    const { host } = counting((pass, state) => {
      if (pass === 5) state.demands++;
    });
    expect(await crossScores(request, host)).toMatchObject({ rows: 4 });
  });

  it("ends where the weights move on, so that all rows are of one version", async () => {
    const { host, passes } = counting((pass, state) => {
      if (pass === 4) state.version++;
    });
    expect(await crossScores(request, host)).toMatchObject({ rows: 2, version: 3 });
    expect(passes()).toBe(4);
  });
});

describe("a scoring that nobody waits for any more", () => {
  it("ends after the pass under way", async () => {
    let passes = 0;
    const host: ScoringHost = {
      runInOrder: (work) => work(),
      updateCommands: () => 0,
      isCancelled: () => passes === 2,
      version: () => 0,
      score: async (_, continuations) => {
        passes++;
        return continuations.map(() => -1);
      },
    };
    expect(await crossScores(request, host)).toMatchObject({ rows: 0 });
    expect(passes).toBe(2);
  });
});

describe("blocks of continuations", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 });

  it("hold every continuation once, in order, and stay within the tokens of a pass", () => {
    assertProperty(
      fc.property(lengths, lengths, fc.integer({ min: 1, max: 200 }), (prompts, continuations, most) => {
        const blocks = blocksOf(prompts, continuations, most);
        expect(blocks[0]?.[0]).toBe(0);
        expect(blocks.at(-1)?.[1]).toBe(continuations.length);
        for (const [i, [from, to]] of blocks.entries()) {
          expect(from).toBe(i === 0 ? 0 : blocks[i - 1]![1]);
          const filled = continuations.slice(from, to).reduce((a, b) => a + b, 0);
          expect(to - from === 1 || filled + Math.max(...prompts) <= most).toBe(true);
        }
      }),
    );
  });

  it("cost no less than their tokens", () => {
    assertProperty(
      fc.property(lengths, lengths, fc.integer({ min: 1, max: 200 }), (prompts, continuations, most) => {
        const scored = prompts.length * continuations.reduce((a, b) => a + b, 0);
        expect(crossTokens(prompts, continuations, most)).toBeGreaterThanOrEqual(scored);
      }),
    );
  });
});
