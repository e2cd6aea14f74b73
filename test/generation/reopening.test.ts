/** A sequence that is opened with a history, replies included, samples what it would have sampled without having been away, to the bit. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Sampled } from "../../src/domain/Episode.ts";
import { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import { type OnnxWeights, open } from "../../src/generation/OnnxModel.ts";
import type { GenerateRequest, ReplySpan } from "../../src/generation/Policy.ts";
import { assertProperty } from "../property.ts";
import { settings } from "./settings.ts";
import { concat, idsOf, loopOptions, reply, requestOf } from "./support.ts";

const turn = fc.record({ append: fc.integer({ min: 0, max: 40 }), reply: fc.integer({ min: 1, max: 9 }) });

const play = fc.record({
  prefillTokens: fc.constantFrom(16, 17, 48, 256),
  sharedPrefix: fc.constantFrom(0, 1, 21, 50, 90),
  turns: fc.array(turn, { minLength: 2, maxLength: 5 }),
  /** Other sequences, which are decoded beside the one that is opened again. */
  beside: fc.nat(2),
});

/** The request that opens the sequence of `requests` at turn `at`, with the history before it. */
const reopened = (requests: readonly GenerateRequest[], replies: readonly Sampled[], at: number): GenerateRequest => {
  const spans: ReplySpan[] = [];
  let history: Int32Array = new Int32Array(0);
  for (const [index, { ids }] of replies.slice(0, at).entries()) {
    const start = history.length + requests[index]!.append.length;
    spans.push({ start, end: start + ids.length });
    history = concat(history, requests[index]!.append, ids);
  }
  const next = requests[at]!;
  return { ...next, append: concat(history, next.append), sharedPrefix: requests[0]!.sharedPrefix, replies: spans };
};

for (const { config, name, options, payload } of settings) {
  it(`samples the same bits at every turn: ${name}`, async () => {
    const model: LanguageModel<OnnxWeights> = await open(config, options());
    const loopOf = (prefillTokens: number) =>
      new GeneratorLoop(model, { version: 0, payload: payload(0) }, { ...loopOptions, prefillTokens });
    try {
      await assertProperty(
        fc.asyncProperty(play, async ({ beside, prefillTokens, sharedPrefix, turns }) => {
          const requests = turns.map(({ append, reply: maxTokens }, at) =>
            requestOf(1, idsOf(at === 0 ? append + 1 + Math.min(60, sharedPrefix) : append, at), {
              sharedPrefix: at === 0 ? sharedPrefix : 0,
              maxTokens,
              key: { seed: 3, purpose: "sampling", counters: [1, at] },
            }),
          );
          const loop = loopOf(prefillTokens);
          const replies: Sampled[] = [];
          for (const request of requests) replies.push(await reply(loop, request));
          for (let at = 1; at < turns.length; at++) {
            const again = loopOf(prefillTokens);
            const others = Array.from({ length: beside }, (_, index) =>
              reply(again, requestOf(7 + index, idsOf(9 + index, 99), { maxTokens: 12 })),
            );
            expect(await reply(again, reopened(requests, replies, at))).toEqual(replies[at]);
            if (at + 1 < turns.length) expect(await reply(again, requests[at + 1]!)).toEqual(replies[at + 1]);
            await Promise.all(others);
            await again.whenIdle();
          }
          await loop.whenIdle();
        }),
        { numRuns: 6 },
      );
    } finally {
      await model.close();
    }
  });
}
