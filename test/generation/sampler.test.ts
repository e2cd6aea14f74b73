import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stream } from "../../src/domain/Random.ts";
import type { Sampling } from "../../src/generation/Policy.ts";
import { NotFiniteLogits, Sampler } from "../../src/generation/Sampler.ts";
import { assertProperty } from "../property.ts";

const all: Sampling = { temperature: 1, topK: -1, topP: 1 };

const logitsOf = (size: number, seed: number, spread = 2): Float32Array => {
  const random = stream({ seed, purpose: "play", counters: [] });
  return Float32Array.from({ length: size }, () => spread * random.normal());
};

/** Log-probabilities, written the plain way. */
const logSoftmax = (logits: ArrayLike<number>, temperature: number): number[] => {
  const z = Array.from(logits, (logit) => logit / temperature);
  const most = Math.max(...z);
  const total = Math.log(z.reduce((sum, value) => sum + Math.exp(value - most), 0));
  return z.map((value) => value - most - total);
};

/** Ids of the top-k and then top-p set. */
const keptBy = (logits: Float32Array, { temperature, topK, topP }: Sampling): readonly number[] => {
  const order = [...logits.keys()]
    .sort((a, b) => logits[b]! - logits[a]! || a - b)
    .slice(0, topK > 0 ? topK : undefined);
  const p = logSoftmax(
    order.map((id) => logits[id]!),
    temperature,
  ).map(Math.exp);
  let mass = 0;
  let count = 0;
  while (count < order.length && (count === 0 || mass < topP)) mass += p[count++]!;
  return order.slice(0, count);
};

describe("Sampler", () => {
  it("draws ids as often as the softmax at the temperature says", () => {
    const logits = logitsOf(20, 1);
    const temperature = 0.7;
    const p = logSoftmax(logits, temperature).map(Math.exp);
    const sampler = new Sampler(20);
    const random = stream({ seed: 9, purpose: "sampling", counters: [1, 2, 3] });
    const draws = 50_000;
    const counts = new Array<number>(20).fill(0);
    for (let i = 0; i < draws; i++) {
      sampler.draw(logits, 0, { ...all, temperature }, random.uniform());
      counts[sampler.id]!++;
    }
    const chiSquare = counts.reduce((sum, count, id) => sum + (count - draws * p[id]!) ** 2 / (draws * p[id]!), 0);
    // 99.9th percentile of chi-square with 19 degrees of freedom
    expect(chiSquare).toBeLessThan(43.8);
  });

  it("gives mu and entropy of the softmax at the temperature", () => {
    assertProperty(
      fc.property(
        fc.nat(1000),
        fc.double({ min: 0.1, max: 3, noNaN: true }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (seed, temperature, uniform) => {
          const logits = logitsOf(50, seed);
          const sampler = new Sampler(50);
          sampler.draw(logits, 0, { ...all, temperature }, uniform);
          const logp = logSoftmax(logits, temperature);
          expect(sampler.mu).toBeCloseTo(logp[sampler.id]!, 9);
          expect(sampler.entropy).toBeCloseTo(-logp.reduce((sum, value) => sum + Math.exp(value) * value, 0), 9);
        },
      ),
    );
  });

  it("draws only from the top-k and top-p set and renormalises mu over it", () => {
    assertProperty(
      fc.property(
        fc.nat(1000),
        fc.integer({ min: -1, max: 12 }).filter((k) => k !== 0),
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (seed, topK, topP, uniform) => {
          const logits = logitsOf(16, seed);
          const sampling = { temperature: 0.9, topK, topP };
          const sampler = new Sampler(16);
          sampler.draw(logits, 0, sampling, uniform);
          const kept = keptBy(logits, sampling);
          expect(kept).toContain(sampler.id);
          const logp = logSoftmax(
            kept.map((id) => logits[id]!),
            0.9,
          );
          expect(sampler.mu).toBeCloseTo(logp[kept.indexOf(sampler.id)]!, 9);
        },
      ),
    );
  });

  it("takes the likeliest id at temperature 0, the lowest of equals, without chance", () => {
    const sampler = new Sampler(5);
    sampler.draw(Float32Array.of(0, 3, 1, 3, 2), 0, { ...all, temperature: 0 }, 0.99);
    expect(sampler).toMatchObject({ id: 1, mu: 0, entropy: 0 });
  });

  it("reads its own row of the logits only", () => {
    const rows = Float32Array.of(...logitsOf(8, 4), ...logitsOf(8, 5));
    const sampler = new Sampler(8);
    sampler.draw(rows, 8, all, 0.3);
    const { id, mu } = sampler;
    sampler.draw(logitsOf(8, 5), 0, all, 0.3);
    expect({ id: sampler.id, mu: sampler.mu }).toEqual({ id, mu });
  });

  it("never draws an id of probability 0", () => {
    const sampler = new Sampler(3);
    for (const uniform of [0, 0.5, 1 - 2 ** -53]) {
      sampler.draw(Float32Array.of(-1e30, 2, -1e30), 0, all, uniform);
      expect(sampler).toMatchObject({ id: 1, mu: 0 });
    }
  });

  it("refuses logits that are not finite", () => {
    const sampler = new Sampler(2);
    expect(() => sampler.draw(Float32Array.of(0, Number.NaN), 0, all, 0.5)).toThrow(RangeError);
    expect(() => sampler.draw(Float32Array.of(0, Number.POSITIVE_INFINITY), 0, all, 0.5)).toThrow(RangeError);
  });

  it.each([
    [Number.NaN, 0, 1],
    [2, 1, Number.NaN],
    [Number.POSITIVE_INFINITY, 0, 0],
    [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ])("refuses the logits %d, %d, %d at any temperature", (...logits) => {
    const sampler = new Sampler(3);
    for (const temperature of [0, 0.5, 1]) {
      const draw = () => sampler.draw(Float32Array.from(logits), 0, { ...all, temperature }, 0.5);
      expect(draw).toThrow(NotFiniteLogits);
    }
  });
});
