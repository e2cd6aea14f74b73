import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Network } from "../../src/learner/Network.ts";
import { parametersOf } from "../../src/model/graphs/Parameters.ts";
import { assertProperty } from "../property.ts";

const options = { betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, gradClip: 1 };
const size = 37;
const values = (from: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(from + i));
const state = () => ({ parameters: values(1), first: values(2), second: values(3).map(Math.abs), gradient: values(4) });
type Place = keyof ReturnType<typeof state>;

const unmoved = () => ({
  ...state(),
  gradient: new Float32Array(size),
  first: new Float32Array(size),
  second: new Float32Array(size),
});
const steep = () => ({ ...state(), gradient: values(4).fill(1e20) });

const open = ({ first, parameters, second }: ReturnType<typeof state>, changes: Partial<typeof options> = {}) =>
  new Network(
    parametersOf([{ name: "w", shape: [size] }], parameters),
    { ...options, ...changes },
    {
      first,
      second,
      steps: 3,
    },
  );

/** Everything that a step may change, as bits: a NaN equals itself. */
const bits = ({ moments: { first, second, steps }, parameters }: Network) =>
  [parameters.flat, first, second].map((array) => Buffer.from(array.buffer).toString("hex")).concat(`${steps}`);

describe("an AdamW step", () => {
  const places: readonly Place[] = ["parameters", "gradient", "first", "second"];
  const poisons = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const cases = places.flatMap((place) =>
    poisons.flatMap((poison) => [0, 18, size - 1].map((index) => ({ place, poison, index }))),
  );

  it.each(cases)("with $poison in $place at $index changes nothing", async ({ index, place, poison }) => {
    const given = state();
    given[place][index] = poison;
    for (const lr of [1e-3, 0]) {
      const network = open(given);
      const before = bits(network);
      const { applied, notFinite } = await network.step([given.gradient], lr);
      expect(applied).toBe(false);
      expect(notFinite).not.toBeNull();
      expect(bits(network)).toEqual(before);
    }
  });

  it.each([
    ["a learning rate beyond float32", 1e308, {}, state(), "new parameters"],
    ["parameters whose squares overflow", 1e30, {}, state(), "new parameters"],
    ["no weight on the mean and nothing in it", 1e-3, { eps: 0 }, unmoved(), "new parameters"],
    ["a gradient whose square overflows", 1e-3, { gradClip: 0 }, steep(), "gradient"],
    ["a second moment below 0", 1e-3, {}, { ...state(), second: values(3).fill(-1) }, "new parameters"],
    ["a mean of squares without bound", 1e-3, {}, { ...state(), second: values(3).fill(3e38) }, "new moments"],
  ] as const)("with %s changes nothing and says what is not finite", async (_, lr, changes, given, what) => {
    const network = open(given, changes);
    const before = bits(network);
    expect(await network.step([given.gradient], lr)).toMatchObject({ applied: false, notFinite: what });
    expect(bits(network)).toEqual(before);
  });

  it("of finite numbers is the arithmetic of its formula in float32, bit for bit", async () => {
    const { fround } = Math;
    const number = fc.float({ min: -8, max: 8, noNaN: true });
    const vector = fc.float32Array({ minLength: size, maxLength: size, min: -8, max: 8, noNaN: true });
    await assertProperty(
      fc.asyncProperty(vector, vector, vector, vector, fc.nat(1000), number, async (p, g, m, s, steps, rate) => {
        const v = s.map(Math.abs);
        const lr = Math.abs(rate) / 1000;
        const unbounded = { ...options, gradClip: 0 };
        const moments = { first: m.slice(), second: v.slice(), steps };
        const network = new Network(parametersOf([{ name: "w", shape: [size] }], p.slice()), unbounded, moments);
        expect(await network.step([g], lr)).toMatchObject({ applied: true, notFinite: null });
        const [b1, c1, b2, c2] = [0.9, 1 - 0.9, 0.999, 1 - 0.999].map(fround) as [number, number, number, number];
        const root = fround(1 / Math.sqrt(1 - 0.999 ** (steps + 1)));
        const stepSize = fround(lr / (1 - 0.9 ** (steps + 1)));
        const keep = fround(1 - lr * 0.01);
        const first = m.map((x, i) => fround(fround(x * b1) + fround(g[i]! * c1)));
        const second = v.map((x, i) => fround(fround(x * b2) + fround(fround(g[i]! * g[i]!) * c2)));
        const next = p.map((x, i) => {
          const below = fround(fround(fround(Math.sqrt(second[i]!)) * root) + fround(1e-8));
          return fround(fround(x * keep) - fround(fround(first[i]! / below) * stepSize));
        });
        expect(network.moments).toEqual({ first, second, steps: steps + 1 });
        expect(network.parameters.flat).toEqual(next);
      }),
    );
  });
});
