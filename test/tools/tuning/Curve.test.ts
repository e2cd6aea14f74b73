import { describe, expect, it } from "vitest";
import * as Curve from "../../../src/tools/tuning/Curve.ts";

const hinge = (level: number): number => 300 * Math.max(1, level / 32) ** 1.5;
const points = (levels: readonly number[], time: (level: number) => number, error = 0.02): readonly Curve.Point[] =>
  levels.map((level) => ({ level, serviceMs: time(level), error }));

describe("what is believed of a service's times", () => {
  it("hopes for gains on either side of a single point", () => {
    const curve = Curve.fit(points([48], hinge));
    expect(Curve.improvement(curve, 48, 24)).toBeGreaterThan(0.1);
    expect(Curve.improvement(curve, 48, 96)).toBeGreaterThan(0.1);
  });

  it("finds the room between points that are well apart", () => {
    const curve = Curve.fit(points([6, 12, 24, 48, 96], hinge));
    const levels = Array.from({ length: 60 }, (_, i) => 12 + i);
    const best = levels.reduce((a, b) => (Curve.gain(curve, a, b) > 0 ? b : a));
    expect(Math.abs(Math.log(best / 32))).toBeLessThan(0.15);
  });

  it("expects nothing of more or fewer slots of a service whose throughput is flat", () => {
    const flat = (level: number): number => 10 * level;
    const curve = Curve.fit(points([8, 16, 32, 64], flat));
    expect(Math.abs(Curve.gain(curve, 32, 64))).toBeLessThan(0.05);
  });

  it("is the less sure, the further from what was measured", () => {
    const curve = Curve.fit(points([10, 12], hinge));
    expect(Curve.expected(curve, 11).error).toBeLessThan(0.05);
    expect(Curve.expected(curve, 200).error).toBeGreaterThan(0.3);
  });
});
