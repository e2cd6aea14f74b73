import { describe, expect, it } from "vitest";
import { CallTimes, callsBetween } from "../../../src/flow/CallTimes.ts";
import * as Measure from "../../../src/tools/tuning/Measure.ts";
import { blocks, measured } from "./measured.ts";

describe("what is known of a stage's service times", () => {
  it("has a point for each level, surer with more calls", () => {
    const points = Measure.points(measured(blocks(20, 100, 24, 250), blocks(2, 100, 48, 500)));
    expect(points.map(({ level }) => Math.round(level))).toEqual([24, 48]);
    expect(points.map(({ serviceMs }) => Math.round(serviceMs))).toEqual([250, 500]);
    expect(points[0]!.error).toBeLessThan(points[1]!.error);
  });

  it("is less sure while calls of a level are under way", () => {
    const times = new CallTimes();
    for (let call = 0; call < 200; call++) times.begin(24);
    for (let call = 0; call < 100; call++) times.end(24, 250);
    const [open] = Measure.points(measured([callsBetween([], times.sample())]));
    const [ended] = Measure.points(measured(blocks(1, 100, 24, 250)));
    expect(open!.error).toBeGreaterThan(2 * ended!.error);
  });

  it("doubts a curve the more, the further a level is from what is surely known", () => {
    const points = Measure.points(measured(blocks(20, 100, 24, 250)));
    expect(Measure.doubt(points, 24)).toBe(0);
    expect(Measure.doubt(points, 30)).toBeGreaterThan(0.05);
    expect(Measure.doubt(points, 60)).toBeGreaterThan(Measure.doubt(points, 30));
  });

  it("tells by which factor a service has become slower at a level that is known", () => {
    const calm = measured(blocks(30, 50, 24, 100));
    expect(Measure.shifted(calm)).toBe(1);
    expect(Measure.shifted(measured(blocks(30, 50, 24, 100), blocks(6, 50, 24, 300)))).toBeCloseTo(3, 5);
  });

  it("takes no other level for a change of the service", () => {
    expect(Measure.shifted(measured(blocks(30, 50, 24, 100), blocks(6, 50, 96, 400)))).toBe(1);
  });

  it("takes calls that began long ago, the slow ones, for no change", () => {
    const times = new CallTimes();
    for (let call = 0; call < 60; call++) times.end(24, 1000);
    expect(Measure.shifted(measured(blocks(30, 50, 24, 100), [callsBetween([], times.sample())]))).toBe(1);
  });

  it("forgets all but the newest block", () => {
    const forgotten = Measure.afresh(measured(blocks(30, 50, 24, 100), blocks(6, 50, 24, 300)));
    expect(Measure.points(forgotten).map(({ serviceMs }) => Math.round(serviceMs))).toEqual([300]);
  });
});
