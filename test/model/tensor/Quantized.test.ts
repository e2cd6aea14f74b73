import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasExactInt8 } from "../../../src/model/runtime/exactInt8.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { quantize, quantizedProduct } from "../../../src/model/tensor/Quantized.ts";
import { assertProperty } from "../../property.ts";
import { float32, load, type Model } from "./session.ts";

/** On other CPUs the runtime saturates such products, and a model in 8 bits is refused. */
const exact = await hasExactInt8();
const [OUT, WIDTH] = [70, 48];

let model: Model;
beforeAll(async () => {
  const graph = new Graph("product");
  const codes = graph.input("codes", "int8", [WIDTH, OUT]);
  const scales = graph.input("scales", "float32", [OUT]);
  graph.output("y", quantizedProduct(graph.input("x", "float32", ["rows", WIDTH]), { codes, scales }));
  model = await load(graph.toModel(), 1);
});
afterAll(() => model.release());

const matrix = (at: (i: number) => number): Float32Array => Float32Array.from({ length: OUT * WIDTH }, (_, i) => at(i));
const wave = (i: number): number => Math.sin(1 + 0.7 * i) * (1 + (i % 7));

const coded = (values: Float32Array) => {
  const quantized = { codes: new Int8Array(OUT * WIDTH), scales: new Float32Array(OUT) };
  quantize(values, [OUT, WIDTH], quantized);
  return quantized;
};

const run = async (x: Float32Array, { codes, scales }: ReturnType<typeof coded>): Promise<Float32Array> => {
  const { y } = await model.run({
    x: float32([x.length / WIDTH, WIDTH], x),
    codes: { dtype: "int8", dims: [WIDTH, OUT], data: codes },
    scales: float32([OUT], scales),
  });
  return y!;
};

describe("quantize", () => {
  it("moves no weight by more than half a step of its output", () => {
    assertProperty(
      fc.property(
        fc.array(fc.double({ min: -50, max: 50, noNaN: true }), { minLength: 6, maxLength: 6 }),
        (numbers) => {
          const values = Float32Array.from(numbers);
          const quantized = { codes: new Int8Array(6), scales: new Float32Array(2) };
          quantize(values, [2, 3], quantized);
          for (let out = 0; out < 2; out += 1)
            for (let i = 0; i < 3; i += 1) {
              const scale = quantized.scales[out]!;
              expect(Math.abs(quantized.codes[i * 2 + out]! * scale - values[out * 3 + i]!)).toBeLessThanOrEqual(
                0.5001 * scale,
              );
            }
        },
      ),
    );
  });

  it("keeps an output of zeros", () => {
    const quantized = coded(matrix(() => 0));
    expect(quantized.codes.every((code) => code === 0)).toBe(true);
    expect(quantized.scales.every((scale) => Number.isFinite(scale) && scale > 0)).toBe(true);
  });
});

describe("quantizedProduct", () => {
  const quantized = coded(matrix(wave));
  const rows = (count: number, factor = 1): Float32Array =>
    Float32Array.from({ length: count * WIDTH }, (_, i) => factor * Math.cos(0.3 * i) * (i % 5 === 0 ? 20 : 1));

  it.runIf(exact)("is the product with the rounded weights, of rows in 16 bits", async () => {
    const x = rows(3);
    const y = await run(x, quantized);
    for (let row = 0; row < 3; row += 1)
      for (let out = 0; out < OUT; out += 1) {
        let exact = 0;
        let size = 0;
        for (let i = 0; i < WIDTH; i += 1) {
          const weight = quantized.codes[i * OUT + out]! * quantized.scales[out]!;
          exact += x[row * WIDTH + i]! * weight;
          size += Math.abs(weight);
        }
        // Half a step of the low byte, of the row's largest number, for each weight.
        const step = 20 / 127 / 254;
        expect(Math.abs(y[row * OUT + out]! - exact)).toBeLessThan(0.5 * step * size + 1e-4);
      }
  });

  it("gives a row the same bits whatever the other rows", async () => {
    const x = rows(37);
    const whole = await run(x, quantized);
    for (const row of [0, 5, 36]) {
      const alone = await run(x.slice(row * WIDTH, (row + 1) * WIDTH), quantized);
      expect(alone).toEqual(whole.slice(row * OUT, (row + 1) * OUT));
    }
  });

  it("gives zeros for a row of zeros", async () => {
    expect(await run(new Float32Array(WIDTH), quantized)).toEqual(new Float32Array(OUT));
  });
});
