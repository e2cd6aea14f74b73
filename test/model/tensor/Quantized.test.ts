import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasExactInt8 } from "../../../src/model/runtime/exactInt8.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { BLOCK, blocksOf, quantize, quantizedProduct } from "../../../src/model/tensor/Quantized.ts";
import { assertProperty } from "../../property.ts";
import { float32, load, type Model } from "./session.ts";

/** On other CPUs the runtime saturates such products, and a model in 8 bits is refused. */
const exact = await hasExactInt8();
/** The last of an output's two blocks is cut. */
const [OUT, WIDTH] = [70, 48];
const BLOCKS = blocksOf(WIDTH);

const matrix = (at: (i: number) => number): Float32Array => Float32Array.from({ length: OUT * WIDTH }, (_, i) => at(i));
const wave = (i: number): number => Math.sin(1 + 0.7 * i) * (1 + (i % 7));

const quantizedOf = (values: Float32Array, shape: readonly [out: number, width: number]) => {
  const blocks = shape[0] * blocksOf(shape[1]);
  const quantized = { codes: new Uint8Array(blocks * BLOCK), scales: new Float32Array(blocks) };
  quantize(values, shape, quantized);
  return quantized;
};

/** Element i of output o of a matrix of `width`. */
const weightOf = ({ codes, scales }: ReturnType<typeof quantizedOf>, width: number, o: number, i: number): number => {
  const block = o * blocksOf(width) + Math.floor(i / BLOCK);
  return (codes[block * BLOCK + (i % BLOCK)]! - 128) * scales[block]!;
};

describe("quantize", () => {
  it("moves no weight by more than half a step of its block", () => {
    assertProperty(
      fc.property(
        fc
          .integer({ min: 1, max: 70 })
          .chain((width) =>
            fc.tuple(
              fc.constant(width),
              fc.array(fc.double({ min: -50, max: 50, noNaN: true }), { minLength: 2 * width, maxLength: 2 * width }),
            ),
          ),
        ([width, numbers]) => {
          const values = Float32Array.from(numbers);
          const quantized = quantizedOf(values, [2, width]);
          for (let o = 0; o < 2; o += 1)
            for (let i = 0; i < width; i += 1) {
              const scale = quantized.scales[o * blocksOf(width) + Math.floor(i / BLOCK)]!;
              const error = Math.abs(weightOf(quantized, width, o, i) - values[o * width + i]!);
              expect(error).toBeLessThanOrEqual(0.5001 * scale);
            }
        },
      ),
    );
  });

  it("keeps a block of zeros", () => {
    const { codes, scales } = quantizedOf(
      matrix(() => 0),
      [OUT, WIDTH],
    );
    expect(codes.every((code) => code === 128)).toBe(true);
    expect(scales.every((scale) => Number.isFinite(scale) && scale > 0)).toBe(true);
  });
});

describe("quantizedProduct", () => {
  const quantized = quantizedOf(matrix(wave), [OUT, WIDTH]);
  const rows = (count: number): Float32Array =>
    Float32Array.from({ length: count * WIDTH }, (_, i) => Math.cos(0.3 * i) * (i % 5 === 0 ? 20 : 1));

  const modelOf = (threads: number): Promise<Model> => {
    const graph = new Graph("product");
    const codes = graph.constant(quantized.codes, "uint8", [OUT, BLOCKS, BLOCK]);
    const scales = graph.constant(quantized.scales);
    graph.output("y", quantizedProduct(graph.input("x", "float32", ["rows", WIDTH]), { codes, scales }));
    return load(graph.toModel(), threads);
  };
  const run = async (x: Float32Array, threads = 1): Promise<Float32Array> => {
    const model = await modelOf(threads);
    try {
      return (await model.run({ x: float32([x.length / WIDTH, WIDTH], x) })).y!;
    } finally {
      await model.release();
    }
  };

  it.runIf(exact)("is the product with the rounded weights, of rows rounded to 8 bits", async () => {
    const x = rows(3);
    const y = await run(x);
    for (let row = 0; row < 3; row += 1)
      for (let out = 0; out < OUT; out += 1) {
        let sum = 0;
        let size = 0;
        for (let i = 0; i < WIDTH; i += 1) {
          const weight = weightOf(quantized, WIDTH, out, i);
          sum += x[row * WIDTH + i]! * weight;
          size += Math.abs(weight);
        }
        // Half a step of a row's largest number, for each weight.
        expect(Math.abs(y[row * OUT + out]! - sum)).toBeLessThan((0.51 * 20 * size) / 127);
      }
  });

  it("gives a row the same bits whatever the other rows and the number of threads", async () => {
    const x = rows(37);
    const whole = await run(x);
    expect(await run(x, 2)).toEqual(whole);
    for (const row of [0, 5, 36]) {
      const alone = await run(x.slice(row * WIDTH, (row + 1) * WIDTH));
      expect(alone).toEqual(whole.slice(row * OUT, (row + 1) * OUT));
    }
  });

  it("gives zeros for a row of zeros", async () => {
    expect(await run(new Float32Array(WIDTH))).toEqual(new Float32Array(OUT));
  });
});
