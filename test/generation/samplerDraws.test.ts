/** The sampler's kernel draws what the plain sampler draws, for rows of every size and shape. */
import { describe, expect, it } from "vitest";
import { type Random, stream } from "../../src/domain/Random.ts";
import type { Sampling } from "../../src/generation/Policy.ts";
import { NotFiniteLogits, Sampler } from "../../src/generation/Sampler.ts";
import { PlainSampler } from "./plainSampler.ts";

const all: Sampling = { temperature: 1, topK: -1, topP: 1 };

const pick = <Value>(values: readonly Value[], random: Random): Value =>
  values[Math.floor(random.uniform() * values.length)]!;

/** Flat and peaked rows around any level, some with equal logits and some with ids that are ruled out. */
const rowOf = (size: number, random: Random): Float32Array => {
  const spread = pick([0.01, 0.3, 1, 3, 10, 40], random);
  const level = pick([0, 0, -20, 500], random);
  const grid = pick([0, 0, 0.1, 1], random);
  const hasGaps = random.uniform() < 0.2;
  const row = Float32Array.from({ length: size }, () => {
    if (hasGaps && random.uniform() < 0.1) return Number.NEGATIVE_INFINITY;
    const logit = spread * random.normal();
    return level + (grid === 0 ? logit : grid * Math.round(logit / grid));
  });
  row[Math.floor(random.uniform() * size)] = level;
  return row;
};

/** Draws from `rows` rows with both samplers; returns the draws that differ and how far mu and entropy were apart. */
const compare = (seed: number, rows: number, sizes: readonly number[], samplings: readonly Sampling[]) => {
  const random = stream({ seed, purpose: "play", counters: [] });
  const samplers = new Map(sizes.map((size) => [size, [new Sampler(size), new PlainSampler(size)] as const]));
  const different: unknown[] = [];
  let distance = 0;
  for (let i = 0; i < rows; i++) {
    const size = pick(sizes, random);
    const sampling = pick(samplings, random);
    const row = rowOf(size, random);
    const uniform = random.uniform();
    const [sampler, plain] = samplers.get(size)!;
    sampler.draw(row, 0, sampling, uniform);
    plain.draw(row, 0, sampling, uniform);
    if (sampler.id !== plain.id) different.push({ i, size, sampling, uniform, id: sampler.id, plain: plain.id });
    distance = Math.max(distance, Math.abs(sampler.mu - plain.mu), Math.abs(sampler.entropy - plain.entropy));
  }
  return { different, isClose: distance < 1e-10 };
};

const small = [1, 2, 3, 5, 64, 127, 128, 129, 200, 256, 636, 1000];
const temperatures = [1, 1, 0.7, 0.05, 3];

describe("the kernel's draws", () => {
  it("are those of the plain sampler", () => {
    const samplings = temperatures.map((temperature) => ({ ...all, temperature }));
    expect(compare(1, 4000, small, samplings)).toEqual({ different: [], isClose: true });
  });

  it("are those of the plain sampler with top-k and top-p, equal logits included", () => {
    const samplings = temperatures.flatMap((temperature) =>
      [1, 2, 10, 100, -1].flatMap((topK) => [1, 0.95, 0.5, 0].map((topP) => ({ temperature, topK, topP }))),
    );
    expect(compare(2, 2000, small, samplings)).toEqual({ different: [], isClose: true });
  });

  it("are those of the plain sampler in large vocabularies", () => {
    const samplings = [all, { ...all, temperature: 0.7 }, { ...all, topP: 0.9 }, { ...all, topK: 50 }];
    expect(compare(3, 16, [32_000, 49_152, 50_000], samplings)).toEqual({ different: [], isClose: true });
  });

  it("are the same from a row again, whatever was drawn between", () => {
    const random = stream({ seed: 4, purpose: "play", counters: [] });
    const sampler = new Sampler(636);
    const row = rowOf(636, random);
    const draw = () => {
      sampler.draw(row, 0, { ...all, topP: 0.9 }, 0.4);
      return { id: sampler.id, mu: sampler.mu, entropy: sampler.entropy };
    };
    const first = draw();
    sampler.draw(new Float32Array(636), 0, { ...all, topK: 3 }, 0.9);
    expect(draw()).toEqual(first);
  });

  it("never leave the lower ids of equal logits that top-k keeps", () => {
    const sampler = new Sampler(500);
    const ids = Array.from({ length: 50 }, (_, i) => {
      sampler.draw(new Float32Array(500), 0, { ...all, topK: 130 }, i / 50);
      return sampler.id;
    });
    expect(ids).toEqual(ids.map((_, i) => Math.floor((130 * i) / 50)));
    expect(sampler.mu).toBeCloseTo(-Math.log(130), 12);
  });

  it("reach the last id when rounding leaves nothing above the uniform number", () => {
    const sampler = new Sampler(300);
    sampler.draw(new Float32Array(300), 0, all, 1 - 2 ** -53);
    expect(sampler.id).toBe(299);
  });
});

describe("the kernel's search of a row", () => {
  it("finds the largest logit at any id, and the lower of two", () => {
    const sampler = new Sampler(300);
    for (let id = 0; id < 300; id++) {
      const row = new Float32Array(300);
      row[id] = 1;
      row[299] = 1;
      sampler.draw(row, 0, { ...all, temperature: 0 }, 0.5);
      expect(sampler.id).toBe(id);
    }
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("finds a logit of %d at any id", (value) => {
    const sampler = new Sampler(300);
    for (let id = 0; id < 300; id++) {
      const row = new Float32Array(300).fill(-1e30, 1);
      row[id] = value;
      expect(() => sampler.draw(row, 0, all, 0.5)).toThrow(NotFiniteLogits);
    }
  });

  it("counts a logit of -Infinity as an id that is ruled out", () => {
    const sampler = new Sampler(130);
    const row = new Float32Array(130).fill(Number.NEGATIVE_INFINITY);
    row[129] = -3;
    sampler.draw(row, 0, all, 0);
    expect(sampler).toMatchObject({ id: 129, mu: 0, entropy: 0 });
  });
});
