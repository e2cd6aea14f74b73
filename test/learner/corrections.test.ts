import { describe, expect, it } from "vitest";
import { correct } from "../../src/learner/corrections.ts";

const mask = Uint8Array.from([1, 1, 0, 1]);
const mu = Float32Array.from([-1, -2, 0, -3]);
const proximal = Float32Array.from([-1, -2 + Math.log(4), -9, -3 + Math.log(0.5)]);
const batch = { mask, mu };
const rounded = (values: Float32Array) => [...values].map((value) => Number(value.toFixed(5)));

describe("off-policy correction", () => {
  it("none takes the ratio against mu and weighs nothing", () => {
    const { old, importance, capped } = correct(batch, proximal, { correction: "none", correction_cap: 2 });
    expect(old).toBe(mu);
    expect(rounded(importance)).toEqual([1, 1, 1, 1]);
    expect(capped).toBe(0);
  });

  it("decoupled takes it against pi_prox and drops tokens above the cap", () => {
    const { old, importance, capped } = correct(batch, proximal, { correction: "decoupled", correction_cap: 2 });
    expect(old).toBe(proximal);
    expect(rounded(importance)).toEqual([1, 0, 1, 0.5]);
    expect(capped).toBe(1);
  });

  it("tis cuts the weight at the cap", () => {
    const { importance } = correct(batch, proximal, { correction: "tis", correction_cap: 2 });
    expect(rounded(importance)).toEqual([1, 2, 1, 0.5]);
  });

  it("a cap of 0 is off", () => {
    const { importance, capped } = correct(batch, proximal, { correction: "decoupled", correction_cap: 0 });
    expect(rounded(importance)).toEqual([1, 4, 1, 0.5]);
    expect(capped).toBe(0);
  });
});
