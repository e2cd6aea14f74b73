/** Recorded sequences come out again to the bit, whatever weights arrived in the middle of them and whatever their caches went through. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sampled, Version } from "../../src/domain/Episode.ts";
import { GeneratorLoop, type GeneratorLoopOptions } from "../../src/generation/GeneratorLoop.ts";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import { type OnnxWeights, open } from "../../src/generation/OnnxModel.ts";
import type { GenerateRequest } from "../../src/generation/Policy.ts";
import { Regenerator } from "../../src/generation/Regenerator.ts";
import { BrokenRecord, type RecordedReply, type RecordedSequence } from "../../src/generation/ReplayedSequence.ts";
import { assertProperty } from "../property.ts";
import { type GeneratorSetting, settings } from "./settings.ts";
import { concat, idsOf, loopOptions, reply, requestOf } from "./support.ts";

interface Scenario {
  readonly slots: number;
  readonly prefillTokens: number;
  readonly kvOnUpdate: "keep" | "recompute";
  readonly refeeding: "exact" | "fast";
  readonly sharedPrefix: number;
  /** Decode steps from one version to the next. */
  readonly period: number;
  /** Decode steps from one cancelled request to the next; its turn is asked again. */
  readonly cancelPeriod: number;
  readonly sequences: readonly (readonly { readonly append: number; readonly reply: number }[])[];
}

/** Versions stop here, because a cache that is recomputed for each would never catch up with short periods. */
const MOST_VERSIONS = 6;
/** The last decode step that may cancel a request, so that each is answered in the end. */
const LAST_CANCEL = 60;

const turn = fc.record({ append: fc.integer({ min: 0, max: 40 }), reply: fc.integer({ min: 1, max: 9 }) });
const scenario: fc.Arbitrary<Scenario> = fc.record({
  slots: fc.integer({ min: 1, max: 4 }),
  prefillTokens: fc.constantFrom(16, 48, 256),
  kvOnUpdate: fc.constantFrom("keep" as const, "recompute" as const),
  refeeding: fc.constantFrom("exact" as const, "fast" as const),
  sharedPrefix: fc.constantFrom(0, 1, 21, 50),
  period: fc.integer({ min: 2, max: 12 }),
  cancelPeriod: fc.constantFrom(5, 11, 1000),
  sequences: fc.array(fc.array(turn, { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 6 }),
});

/** Returns the model, with `during` called before each decode step. */
const watched = (model: LanguageModel<OnnxWeights>, during: (step: number) => void): LanguageModel<OnnxWeights> => {
  let steps = 0;
  return {
    ...model,
    step: (...given) => {
      during(++steps);
      return model.step(...given);
    },
  };
};

/** Plays a scenario with weights that change and requests that are cancelled; returns what was recorded. */
const record = async (
  model: LanguageModel<OnnxWeights>,
  payload: GeneratorSetting["payload"],
  { cancelPeriod, period, sequences, sharedPrefix, ...options }: Scenario,
): Promise<readonly RecordedSequence[]> => {
  let newest: Version = 0;
  const pending = new Map<number, () => void>();
  const loop: GeneratorLoop<OnnxWeights> = new GeneratorLoop(
    watched(model, (step) => {
      if (step % period === 0 && newest < MOST_VERSIONS) loop.offer(++newest, payload(newest));
      const [cancelled] = step % cancelPeriod === 0 && step <= LAST_CANCEL ? pending : [];
      if (cancelled === undefined) return;
      loop.cancel(cancelled[0]);
      cancelled[1]();
    }),
    { version: 0, payload: payload(0) },
    { ...loopOptions, ...options, recordsFills: true } satisfies GeneratorLoopOptions,
  );
  const answered = async (request: GenerateRequest): Promise<Sampled> => {
    for (;;) {
      const wasCancelled = new Promise<undefined>((resolve) => pending.set(request.sequence, () => resolve(undefined)));
      const sampled = await Promise.race([reply(loop, request), wasCancelled]);
      pending.delete(request.sequence);
      if (sampled !== undefined) return sampled;
    }
  };
  const recording = sequences.map(async (turns, sequence): Promise<RecordedSequence> => {
    const replies: RecordedReply[] = [];
    for (const [index, { append: length, reply: maxTokens }] of turns.entries()) {
      // A cancelled request may have filled the whole history, so each turn appends at least one id.
      const ids = idsOf(Math.max(1, length), sequence, index);
      const append = index === 0 ? concat(idsOf(sharedPrefix, 77), ids) : ids;
      const key = { seed: 3, purpose: "sampling", counters: [sequence, index] } as const;
      const request = requestOf(sequence, append, { sharedPrefix: index === 0 ? sharedPrefix : 0, maxTokens, key });
      replies.push({ append, key, sampling: request.sampling, sampled: await answered(request) });
    }
    return replies;
  });
  const recorded = await Promise.all(recording);
  await loop.whenIdle();
  return recorded;
};

const regenerate = (
  model: LanguageModel<OnnxWeights>,
  payload: GeneratorSetting["payload"],
  prefillTokens: number,
  recorded: readonly RecordedSequence[],
) => {
  const sets = new Map<Version, OnnxWeights>();
  const weights = (version: Version): OnnxWeights => {
    const set = sets.get(version) ?? model.weights(version, payload(version));
    sets.set(version, set);
    return set;
  };
  return new Regenerator(model, weights, { slots: 3, prefillTokens }).run(recorded);
};

for (const { config, name, options, payload } of settings) {
  it(`gives the recorded bits when: ${name}`, async () => {
    const model = await open(config, options());
    let [mixed, refilled] = [0, 0];
    try {
      await assertProperty(
        fc.asyncProperty(scenario, async (given) => {
          const recorded = await record(model, payload, given);
          const replies = recorded.flat().map(({ sampled }) => sampled);
          expect(await regenerate(model, payload, given.prefillTokens, recorded)).toEqual({
            tokens: replies.reduce((sum, { ids }) => sum + ids.length, 0),
            differences: [],
          });
          mixed += replies.filter(({ versions }) => new Set(versions).size > 1).length;
          for (const later of recorded)
            refilled += later.slice(1).filter(({ sampled }) => sampled.fills![0]!.from === 0).length;
        }),
        { numRuns: 4 },
      );
      expect(mixed, "replies of several versions").toBeGreaterThan(0);
      expect(refilled, "replies after an eviction or a recompute").toBeGreaterThan(0);
    } finally {
      await model.close();
    }
  });
}

describe("a record that was changed", () => {
  const { config, options, payload } = settings[0]!;
  const given: Scenario = {
    slots: 2,
    prefillTokens: 48,
    kvOnUpdate: "keep",
    refeeding: "fast",
    sharedPrefix: 21,
    period: 4,
    cancelPeriod: 1000,
    sequences: [0, 1, 2].map(() => [
      { append: 9, reply: 8 },
      { append: 5, reply: 8 },
    ]),
  };

  /** Records, changes reply 1 of sequence 2, and regenerates. */
  const regenerated = async (change: (sampled: Sampled) => Sampled) => {
    const model = await open(config, options());
    try {
      const recorded = await record(model, payload, given);
      const changed = recorded.map((replies, sequence) =>
        replies.map((recordedReply, index) =>
          sequence === 2 && index === 1 ? { ...recordedReply, sampled: change(recordedReply.sampled) } : recordedReply,
        ),
      );
      const { differences } = await regenerate(model, payload, given.prefillTokens, changed);
      return { differences, original: recorded[2]![1]!.sampled, changed: changed[2]![1]!.sampled };
    } finally {
      await model.close();
    }
  };

  it("names the first id that differs", async () => {
    const other = (id: number): number => (id + 1) % config.vocabSize;
    const { changed, differences, original } = await regenerated((sampled) => ({
      ...sampled,
      ids: sampled.ids.map((id, token) => (token === 5 ? other(id) : id)),
    }));
    expect(differences).toMatchObject([
      {
        sequence: 2,
        reply: 1,
        token: 5,
        version: original.versions[5],
        key: { counters: [2, 1] },
        recorded: { id: changed.ids[5] },
        regenerated: { id: original.ids[5], mu: original.mu[5] },
      },
    ]);
  });

  it("names the first token of another version", async () => {
    const { differences } = await regenerated((sampled) => ({
      ...sampled,
      fills: sampled.fills!.map((fill, index) => (index === 0 ? fill : { ...fill, version: 0 })),
    }));
    expect(differences).toMatchObject([{ sequence: 2, reply: 1, token: 1, version: 0 }]);
  });

  it("is refused if its fills do not lead to its tokens", async () => {
    const cut = (sampled: Sampled): Sampled => ({ ...sampled, fills: sampled.fills!.slice(0, -1) });
    await expect(regenerated(cut)).rejects.toThrow(BrokenRecord);
  });
});

describe("a regeneration", () => {
  it("feeds an opening once that sequences share", async () => {
    const { config, options, payload } = settings[0]!;
    const model = await open(config, options());
    const given: Scenario = {
      slots: 3,
      prefillTokens: 256,
      kvOnUpdate: "keep",
      refeeding: "fast",
      sharedPrefix: 21,
      period: 1000,
      cancelPeriod: 1000,
      sequences: [4, 8, 6].map((reply) => [{ append: 9, reply }]),
    };
    const prefilled: (readonly bigint[])[] = [];
    const counting: LanguageModel<OnnxWeights> = {
      ...model,
      prefill: (weights, tokens) => {
        prefilled.push([...tokens.lengths]);
        return model.prefill(weights, tokens);
      },
    };
    try {
      await regenerate(counting, payload, given.prefillTokens, await record(model, payload, given));
      expect(prefilled).toEqual([[21n]]);
    } finally {
      await model.close();
    }
  });
});
