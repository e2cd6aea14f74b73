import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { correct, needsProximal } from "../../src/learner/corrections/correct.ts";
import { interpolatedCorrection, logLinearPlaces } from "../../src/learner/corrections/logLinear.ts";
import golden from "../fixtures/credit/credit.json" with { type: "json" };
import { assertProperty } from "../property.ts";
import { fixture, fixtureProximal } from "./creditFixture.ts";

type Algorithm = RunConfig["algorithm"];
type Name = Algorithm["correction"];

const mask = Uint8Array.from([1, 1, 0, 1]);
const mu = Float32Array.from([-1, -2, 0, -3]);
const proximal = Float32Array.from([-1, -2 + Math.log(4), -9, -3 + Math.log(0.5)]);
const batch = { mask, mu, offsets: Int32Array.of(0, 4) };
const with_ = (correction: Name, cap = 2, more: Partial<Algorithm> = {}) => ({
  correction,
  correction_cap: cap,
  correction_floor: 0.5,
  correction_ratio: "product" as const,
  vtrace_rho_bar: 1,
  ...more,
});
const rounded = (values: Float32Array) => [...values].map((value) => Number(value.toFixed(5)));

describe("off-policy correction", () => {
  it.each(["none", "loglinear"] as const)("%s takes the ratio against mu and weighs nothing", (name) => {
    const { old, importance, capped } = correct(batch, proximal, with_(name));
    expect(old).toBe(mu);
    expect(rounded(importance)).toEqual([1, 1, 1, 1]);
    expect(capped).toBe(0);
    expect(needsProximal(name)).toBe(false);
  });

  it("decoupled takes it against pi_prox and drops tokens above the cap", () => {
    const { old, importance, capped } = correct(batch, proximal, with_("decoupled"));
    expect(old).toBe(proximal);
    expect(rounded(importance)).toEqual([1, 0, 1, 0.5]);
    expect(capped).toBe(1);
  });

  it("tis cuts the weight at the cap", () => {
    expect(rounded(correct(batch, proximal, with_("tis")).importance)).toEqual([1, 2, 1, 0.5]);
  });

  it("icepop drops tokens on both sides", () => {
    const { capped, importance } = correct(batch, proximal, with_("icepop", 5, { correction_floor: 0.6 }));
    expect(rounded(importance)).toEqual([1, 4, 1, 0]);
    expect(capped).toBe(1);
  });

  it("a cap of 0 is off", () => {
    const { importance, capped } = correct(batch, proximal, with_("decoupled", 0));
    expect(rounded(importance)).toEqual([1, 4, 1, 0.5]);
    expect(capped).toBe(0);
  });

  it("seq_reject keeps or drops a whole sequence, with the weight 1", () => {
    const two = { ...batch, offsets: Int32Array.of(0, 1, 4) };
    // The second sequence's ratio is 4 x 0.5.
    expect(rounded(correct(two, proximal, with_("seq_reject", 2.1)).importance)).toEqual([1, 1, 1, 1]);
    expect(rounded(correct(two, proximal, with_("seq_reject", 1.9)).importance)).toEqual([1, 0, 1, 0]);
  });

  it.each(
    golden.corrections.map(
      (expected) =>
        [`${expected.name}, ${expected.mean} of ratios in ${expected.floor} to ${expected.cap}`, expected] as const,
    ),
  )("weighs as the definition says: %s", (_, expected) => {
    const name = (["decoupled", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject", "vtrace"] as const).find(
      (correction) => correction === expected.name,
    );
    const { importance, old } = correct(
      fixture("turn"),
      fixtureProximal,
      with_(name ?? "none", expected.cap, {
        correction_floor: expected.floor,
        correction_ratio: expected.mean === "geometric" ? "geometric" : "product",
        vtrace_rho_bar: expected.cap,
      }),
    );
    expect(old).toBe(fixtureProximal);
    for (const [t, weight] of expected.weights.entries()) expect(importance[t]).toBeCloseTo(weight, 5);
  });

  it.each(["decoupled", "tis", "icepop", "seq_tis", "seq_mask", "seq_reject", "vtrace"] as const)(
    "%s changes nothing where the policy has not changed",
    (name) => {
      const { capped, importance } = correct(batch, mu, with_(name));
      expect([rounded(importance), capped]).toEqual([[1, 1, 1, 1], 0]);
    },
  );
});

describe("the log-linear proximal policy", () => {
  const versions = Int32Array.of(5, 3, -1, 1);

  it("lies between mu and the policy by how old a token is", () => {
    // At the end of the update v_pi is 6: a token of version 3 is 2 of 3 versions on its way.
    expect(rounded(logLinearPlaces({ mask, versions }, 5, 1))).toEqual([0, 0.66667, 0, 0.8]);
    expect(rounded(logLinearPlaces({ mask, versions }, 5, 0.5))).toEqual([0, 0.8, 0, 0.88889]);
  });

  it("is the policy itself before the first step, and mu of a token of these weights", () => {
    expect([...logLinearPlaces({ mask, versions }, 5, 0)]).toEqual([0, 1, 0, 1]);
  });

  it("weighs each token by its way from mu, and drops those above the cap", () => {
    const two = {
      mask: Uint8Array.of(0, 1, 1, 1),
      mu: Float32Array.of(0, -2, -2, -2),
      offsets: Int32Array.of(0, 3, 4),
    };
    const logp = Float32Array.from([0, -2 + Math.log(4), -2 + Math.log(16), 5]);
    const places = Float32Array.of(0, 0.5, 1, 1);
    const { capped, importance, old } = interpolatedCorrection(two, [0], { cap: 8, logp, places });
    expect(rounded(importance)).toEqual([1, 2, 0, 1]);
    expect(rounded(old)).toEqual(rounded(Float32Array.from([0, -2 + Math.log(2), -2 + Math.log(16), -2])));
    expect(capped).toBe(1);
    expect(rounded(interpolatedCorrection(two, [0], { cap: 0, logp, places }).importance)).toEqual([1, 2, 16, 1]);
  });

  it("is exact where a token's log-probability moves evenly from version to version", () => {
    assertProperty(
      fc.property(
        fc.integer({ min: 0, max: 20 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: -1, max: 1, noNaN: true }),
        (behind, progress, slope) => {
          const at = (version: number) => -3 + slope * version;
          const token = {
            mask: Uint8Array.of(1),
            versions: Int32Array.of(30 - behind),
            mu: Float32Array.of(at(30 - behind)),
            offsets: Int32Array.of(0, 1),
          };
          const places = logLinearPlaces(token, 30, progress);
          const { old } = interpolatedCorrection(token, [0], {
            cap: 0,
            logp: Float32Array.of(at(30 + progress)),
            places,
          });
          expect(old[0]).toBeCloseTo(at(30), 4);
        },
      ),
    );
  });
});
