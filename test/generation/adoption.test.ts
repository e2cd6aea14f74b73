import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import type { OnnxWeights } from "../../src/generation/OnnxModel.ts";
import { type VersionRetention, WeightSets } from "../../src/generation/WeightSets.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { assertProperty } from "../property.ts";
import { concat, idsOf, loopOn, reply, requestOf, score, weightsOf, withModel } from "./support.ts";

type OnnxLoop = GeneratorLoop<OnnxWeights>;

/** Calls the function that `during` has for a decode step (from 1) before the model runs that step. */
const interrupted = (
  model: LanguageModel<OnnxWeights>,
  during: Readonly<Record<number, () => void>>,
): LanguageModel<OnnxWeights> => {
  let steps = 0;
  return {
    ...model,
    step: (...given) => {
      during[++steps]?.();
      return model.step(...given);
    },
  };
};

const offer = (loop: OnnxLoop, version: number): void => loop.offer(version, fullPayload(weightsOf(version).flat));

const worst = (mu: Float32Array, logp: Float32Array, from: number): number =>
  mu.reduce((most, value, t) => Math.max(most, Math.abs(value - logp[from + t]!)), 0);

describe("adoption", () => {
  it("tags every token with the version that sampled it, within one reply", () =>
    withModel(async (model) => {
      const adopted: number[] = [];
      const loop: OnnxLoop = loopOn(interrupted(model, { 3: () => offer(loop, 1), 7: () => offer(loop, 2) }), {
        onAdopted: (version) => adopted.push(version),
      });
      const sampled = await reply(loop, requestOf(0, idsOf(10)));
      // The prefill gives token 0 and decode step s token s; a version that comes during step s samples token s + 1.
      expect([...sampled.versions]).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
      expect(adopted).toEqual([1, 2]);
      expect(loop.gauges()).toMatchObject({ version: 2, adoptions: 2, refedTokens: 0 });
    }));

  it("with recompute gives the full scoring of each version before and after, and counts what is fed again", () =>
    withModel(async (model) => {
      const loop: OnnxLoop = loopOn(interrupted(model, { 3: () => offer(loop, 1) }), {
        kvOnUpdate: "recompute",
      });
      const prompt = idsOf(30);
      const { ids, mu, versions } = await reply(loop, requestOf(0, prompt, { sharedPrefix: 12 }));
      expect([...versions]).toEqual([0, 0, 0, 0, ...new Array<number>(8).fill(1)]);
      const history = concat(prompt, ids);
      expect(worst(mu.subarray(0, 4), await score(history, 0), 29)).toBeLessThan(1e-4);
      expect(worst(mu.subarray(4), await score(history, 1), 33)).toBeLessThan(1e-4);
      // All but the prefix, which is the new version's own.
      expect(loop.gauges().refedTokens).toBe(30 + 3 - 12);
    }));

  it("with keep gives sequences opened later the full scoring of the new version, shared prefix included", () =>
    withModel(async (model) => {
      const loop: OnnxLoop = loopOn(model);
      const prompt = idsOf(30);
      await reply(loop, requestOf(0, prompt, { sharedPrefix: 12 }));
      offer(loop, 1);
      const { ids, mu } = await reply(loop, requestOf(1, prompt, { sharedPrefix: 12 }));
      expect(worst(mu, await score(concat(prompt, ids), 1), 29)).toBeLessThan(1e-4);
    }));

  it("keeps pinned sequences on their version while others go on to the new one", () =>
    withModel(async (model) => {
      const loop: OnnxLoop = loopOn(interrupted(model, { 2: () => offer(loop, 1) }));
      const prompt = idsOf(20);
      const pinned = reply(loop, requestOf(0, prompt, { pin: 0 }));
      const free = reply(loop, requestOf(1, prompt));
      expect((await pinned).versions.every((version) => version === 0)).toBe(true);
      expect([...(await free).versions]).toContain(1);
      const second = await reply(loop, requestOf(0, idsOf(5, 1), { pin: 0 }));
      expect(second.versions.every((version) => version === 0)).toBe(true);
      const history = concat(prompt, (await pinned).ids, idsOf(5, 1), second.ids);
      expect(worst(second.mu, await score(history, 0), history.length - second.ids.length - 1)).toBeLessThan(1e-4);
    }));

  it("with recompute leaves the caches of pinned sequences alone", () =>
    withModel(async (model) => {
      const loop: OnnxLoop = loopOn(interrupted(model, { 2: () => offer(loop, 1) }), {
        kvOnUpdate: "recompute",
      });
      await reply(loop, requestOf(0, idsOf(20), { pin: 0 }));
      expect(loop.gauges()).toMatchObject({ adoptions: 1, refedTokens: 0, prefilledTokens: 20 });
    }));

  it("refuses a pin to a version that is gone", () =>
    withModel(async (model) => {
      const loop: OnnxLoop = loopOn(model);
      offer(loop, 1);
      offer(loop, 2);
      await expect(reply(loop, requestOf(0, idsOf(4), { pin: 0 }))).rejects.toMatchObject({
        failure: { code: "bad_request" },
      });
    }));
});

/** Offers a version and adopts it; undefined where it has to wait. */
const adopt = (sets: WeightSets<string>, version: number): number | undefined => {
  sets.offer(version, `v${version}`);
  return sets.adopt();
};

const newestOnly: VersionRetention = { kept: 1, isStrict: false };
const newestTwo: VersionRetention = { kept: 2, isStrict: false };

describe("WeightSets", () => {
  it("keeps the version before the newest for a pin that is under way", () => {
    const sets = new WeightSets([{ version: 0, weights: "v0" }], newestTwo);
    expect(adopt(sets, 1)).toBe(1);
    expect(sets.get(0)).toBe("v0");
    expect(adopt(sets, 2)).toBe(2);
    expect(sets.has(0)).toBe(false);
  });

  it("of a single thread keeps the older version only while somebody holds it", () => {
    const gone: string[] = [];
    const sets = new WeightSets([{ version: 0, weights: "v0" }], newestOnly, (weights) => gone.push(weights));
    adopt(sets, 1);
    expect([gone, sets.has(0)]).toEqual([["v0"], false]);
    sets.hold(1);
    adopt(sets, 2);
    expect([gone, sets.get(1)]).toEqual([["v0"], "v1"]);
    sets.unhold(1);
    expect([gone, sets.has(1), sets.get(2)]).toEqual([["v0", "v1"], false, "v2"]);
  });

  it("waits with a third version while two are pinned, and then takes the latest", () => {
    const sets = new WeightSets([{ version: 0, weights: "v0" }], newestTwo);
    sets.hold(0);
    adopt(sets, 1);
    sets.hold(1);
    expect(adopt(sets, 2)).toBeUndefined();
    expect(adopt(sets, 3)).toBeUndefined();
    sets.unhold(0);
    expect(sets.adopt()).toBe(3);
    expect(sets.get(1)).toBe("v1");
  });

  it("never goes back to an older version", () => {
    const sets = new WeightSets([{ version: 5, weights: "v5" }], newestTwo);
    expect(adopt(sets, 4)).toBeUndefined();
  });

  it("starts a resumed run with its earlier versions", () => {
    const sets = new WeightSets(
      [3, 5, 6].map((version) => ({ version, weights: `v${version}` })),
      { kept: 3, isStrict: true },
    );
    expect([sets.newest, sets.get(3), sets.get(5)]).toEqual([6, "v3", "v5"]);
    expect(adopt(sets, 7)).toBe(7);
    expect([3, 5, 6, 7].filter((version) => sets.has(version))).toEqual([5, 6, 7]);
  });

  it("strictly gives up only its oldest version, and waits while that is held", () => {
    const sets = new WeightSets([{ version: 0, weights: "v0" }], { kept: 3, isStrict: true });
    for (const version of [1, 2]) adopt(sets, version);
    sets.hold(0);
    expect(adopt(sets, 3)).toBeUndefined();
    expect([0, 1, 2].every((version) => sets.has(version))).toBe(true);
    sets.unhold(0);
    expect(sets.adopt()).toBe(3);
    expect([0, 1, 2, 3].filter((version) => sets.has(version))).toEqual([1, 2, 3]);
  });

  it("holds no more sets than its bound, keeps what is held, and forgets each set once, whatever comes", () => {
    const actions = fc.array(fc.record({ kind: fc.constantFrom("offer", "hold", "unhold"), pick: fc.nat(9) }), {
      maxLength: 60,
    });
    const retentions = fc.record({ kept: fc.integer({ min: 1, max: 5 }), isStrict: fc.boolean() });
    assertProperty(
      fc.property(actions, retentions, (actions, retention) => {
        const forgotten: string[] = [];
        const holds: number[] = [];
        const sets = new WeightSets([{ version: 0, weights: "v0" }], retention, (weights) => forgotten.push(weights));
        let next = 1;
        for (const { kind, pick } of actions) {
          const version = Math.max(0, sets.newest - pick);
          if (kind === "offer") sets.offer(next, `v${next++}`);
          if (kind === "hold" && sets.hold(version)) holds.push(version);
          if (kind === "unhold" && holds.length > 0) sets.unhold(holds.splice(pick % holds.length, 1)[0]!);
          sets.adopt();
          const present = Array.from({ length: next }, (_, each) => each).filter((each) => sets.has(each));
          expect(present.length).toBeLessThanOrEqual(Math.max(2, retention.kept));
          for (const each of holds) expect(present).toContain(each);
          expect(new Set(forgotten).size).toBe(forgotten.length);
          for (const each of present) expect(forgotten).not.toContain(`v${each}`);
        }
      }),
    );
  });
});
