/** Sequences that lose their cache rows between turns sample what they would have sampled with rows of their own, to the bit. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Sampled } from "../../src/domain/Episode.ts";
import { GeneratorLoop, type GeneratorLoopOptions } from "../../src/generation/GeneratorLoop.ts";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import { type OnnxWeights, open } from "../../src/generation/OnnxModel.ts";
import type { Payload } from "../../src/model/weights/Weights.ts";
import { assertProperty } from "../property.ts";
import { settings } from "./settings.ts";
import { concat, idsOf, loopOptions, reply, requestOf } from "./support.ts";

interface Turn {
  /** Ids of the prompt or, later, of what follows the last reply. */
  readonly append: number;
  readonly reply: number;
}

interface Play {
  readonly slots: number;
  readonly prefillTokens: number;
  /** Ids that all openings share; 0 for none. */
  readonly sharedPrefix: number;
  /** Turns of each sequence. */
  readonly sequences: readonly (readonly Turn[])[];
  /** The sequence that goes on next if its last reply is there, and the turns of the event loop before the next event. */
  readonly events: readonly { readonly sequence: number; readonly wait: number }[];
  /** True if requests are pinned to the first version while the second is the newest. */
  readonly pinned: boolean;
}

const turn = fc.record({ append: fc.integer({ min: 0, max: 40 }), reply: fc.integer({ min: 1, max: 9 }) });

const play: fc.Arbitrary<Play> = fc.record({
  slots: fc.integer({ min: 1, max: 4 }),
  prefillTokens: fc.constantFrom(16, 48, 256),
  sharedPrefix: fc.constantFrom(0, 0, 1, 21, 50),
  sequences: fc.array(fc.array(turn, { minLength: 2, maxLength: 4 }), { minLength: 3, maxLength: 6 }),
  events: fc.array(fc.record({ sequence: fc.nat(5), wait: fc.nat(30) }), { maxLength: 24 }),
  pinned: fc.boolean(),
});

type Make = (options: Pick<GeneratorLoopOptions, "slots" | "prefillTokens">) => GeneratorLoop<OnnxWeights>;

/** Plays all turns over some slots: replies by sequence and turn, and the tokens that were fed again. */
const playTurns = async (
  make: Make,
  { events, pinned, prefillTokens, sequences, sharedPrefix }: Play,
  slots: number,
  newer: Payload,
) => {
  const loop = make({ slots, prefillTokens });
  if (pinned && loop.hold(0)) loop.offer(1, newer);
  const prefix = idsOf(sharedPrefix, 77);
  const replies: Promise<Sampled>[][] = sequences.map(() => []);
  const goOn = (sequence: number): Promise<Sampled> | undefined => {
    const turns = sequences[sequence]!;
    const before = replies[sequence]!;
    const next = turns[before.length];
    if (next === undefined) return undefined;
    const turnIds = idsOf(Math.max(before.length === 0 ? 1 : 0, next.append), sequence, before.length);
    const request = requestOf(sequence, before.length === 0 ? concat(prefix, turnIds) : turnIds, {
      sharedPrefix: before.length === 0 ? sharedPrefix : 0,
      maxTokens: next.reply,
      key: { seed: 3, purpose: "sampling", counters: [sequence, before.length] },
      pin: pinned ? 0 : null,
    });
    const pending = Promise.resolve(before.at(-1)).then(() => reply(loop, request));
    before.push(pending);
    return pending;
  };
  for (const { sequence, wait } of events) {
    if (sequence < sequences.length) goOn(sequence);
    for (let i = 0; i < wait; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  for (const [sequence, turns] of sequences.entries()) for (const _ of turns) goOn(sequence);
  const sampled = await Promise.all(replies.map((each) => Promise.all(each)));
  const { refedTokens } = loop.gauges();
  await loop.whenIdle();
  return { sampled, refedTokens };
};

for (const { config, name, options, payload } of settings) {
  it(`samples the same bits whatever is evicted when: ${name}`, async () => {
    const model: LanguageModel<OnnxWeights> = await open(config, options());
    const make: Make = (given) =>
      new GeneratorLoop(model, { version: 0, payload: payload(0) }, { ...loopOptions, ...given });
    let refilled = 0;
    try {
      await assertProperty(
        fc.asyncProperty(play, async (given) => {
          const few = await playTurns(make, given, given.slots, payload(1));
          const enough = await playTurns(make, given, given.sequences.length, payload(1));
          expect(enough.refedTokens).toBe(0);
          expect(few.sampled).toEqual(enough.sampled);
          refilled += few.refedTokens;
        }),
        { numRuns: 10 },
      );
      expect(refilled).toBeGreaterThan(0);
    } finally {
      await model.close();
    }
  });
}
