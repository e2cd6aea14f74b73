import { describe, expect, it } from "vitest";
import { familyDefaults } from "../../../src/model/graphs/Architecture.ts";
import { stepModel } from "../../../src/model/graphs/Decode.ts";
import { rotaryFrequencies } from "../../../src/model/graphs/Rotary.ts";
import { scoreModel } from "../../../src/model/graphs/Score.ts";
import { Graph } from "../../../src/model/tensor/Graph.ts";
import { rotaryRows } from "../../../src/model/tensor/RotaryRows.ts";
import { int64, runOnce } from "../tensor/session.ts";
import { tiny } from "../tiny.ts";

const long = { ...tiny, headDim: 128, maxPositions: 131072, ropeTheta: 500_000 };
const frequencies = rotaryFrequencies(long);

/** cos and sin of positions as the graph computes them. */
const rowsOf = async (positions: readonly number[]) => {
  const graph = new Graph();
  const tables = rotaryRows(graph.input("positions", "int64", ["rows"]), long.maxPositions, frequencies);
  graph.output("cos", tables.cos);
  graph.output("sin", tables.sin);
  graph.output("minusSin", tables.minusSin);
  return runOnce(graph.toModel(), { positions: int64([positions.length], positions) });
};

describe("rotary positions", () => {
  it("of a long context are computed in the graph to the last digits of float32", async () => {
    const positions = [0, 1, 511, 512, 513, 4097, 65535, 100_000, 131_071];
    const { cos, minusSin, sin } = await rowsOf(positions);
    positions.forEach((position, row) => {
      frequencies.forEach((frequency, i) => {
        const at = row * frequencies.length + i;
        expect(Math.abs(cos![at]! - Math.cos(position * frequency))).toBeLessThan(3e-7);
        expect(Math.abs(sin![at]! - Math.sin(position * frequency))).toBeLessThan(3e-7);
        expect(minusSin![at]).toBe(-sin![at]!);
      });
    });
  });

  it("of a long context have the same bits whatever is read with them", async () => {
    const alone = await rowsOf([70_001]);
    const among = await rowsOf([5, 70_000, 70_001, 131_071]);
    const width = frequencies.length;
    expect(among.cos!.subarray(2 * width, 3 * width)).toEqual(alone.cos);
    expect(among.sin!.subarray(2 * width, 3 * width)).toEqual(alone.sin);
  });

  it("are no constants above a MiB, however long the context is", () => {
    for (const maxPositions of [512, 4096, 4097, 131_072, 2 ** 20])
      for (const { constants } of [scoreModel({ ...long, maxPositions }), stepModel({ ...long, maxPositions })])
        for (const { bytes } of constants) expect(bytes.byteLength).toBeLessThanOrEqual(2 ** 20);
  });

  it("of Llama 3.2 keep short wavelengths, stretch long ones and blend between", () => {
    const scaling = { factor: 32, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaxPositions: 8192 };
    const plain = { ...long, ...familyDefaults.llama, headDim: 64 };
    const scaled = rotaryFrequencies({ ...plain, ropeScaling: { type: "llama3", ...scaling } });
    const ratios = rotaryFrequencies(plain).map((frequency, i) => frequency / scaled[i]!);
    expect(ratios[0]).toBe(1);
    expect(ratios.at(-1)).toBeCloseTo(32, 9);
    expect(Array.from(ratios)).toEqual(Array.from(ratios).toSorted((a, b) => a - b));
    expect(ratios.some((ratio) => ratio > 1.01 && ratio < 31)).toBe(true);
  });

  it("of linear scaling turn slower by the factor", () => {
    const scaled = rotaryFrequencies({ ...long, ropeScaling: { type: "linear", factor: 4 } });
    expect(Array.from(scaled)).toEqual(Array.from(frequencies, (frequency) => frequency / 4));
  });
});
