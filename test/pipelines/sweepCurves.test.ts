/** Reading and joining the curves of a sweep's runs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { curvesIn, joinCurves } from "../../pipelines/sweepCurves.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-sweep-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the curves of a run", () => {
  it("are the numbers of the wanted metrics by step; a torn line and what is null are left out", () => {
    const lines = [
      '{"step":0,"time":1,"a":1,"b":2}',
      '{"step":1,"time":2,"a":null}',
      "",
      '{"step":2,"a":3}',
      '{"step":3,"a',
    ];
    writeFileSync(join(folder, "metrics.jsonl"), lines.join("\n"));
    expect(curvesIn(folder, (metric) => metric === "a")).toEqual(
      new Map([
        [
          "a",
          [
            { step: 0, value: 1 },
            { step: 2, value: 3 },
          ],
        ],
      ]),
    );
  });
});

describe("the curves of a point", () => {
  const run = (offset: number, steps: number) =>
    new Map([
      ["a", Array.from({ length: steps }, (_, step) => ({ step, value: step + offset }))],
      ["rare", [{ step: 7, value: offset }]],
    ]);

  it("are mean, least and greatest over its runs, where any of them has a value", () => {
    const { series, steps } = joinCurves([run(0, 3), run(2, 2)]);
    expect(steps).toEqual([0, 1, 2, 7]);
    expect(series[0]).toEqual({ name: "a", mean: [1, 2, 2, null], min: [0, 1, 2, null], max: [2, 3, 2, null] });
  });

  it("are thinned where they are long, and keep the last step and what is rare", () => {
    const { steps, series } = joinCurves([run(0, 5_000)]);
    expect(steps.length).toBeLessThanOrEqual(302);
    expect(steps.at(-1)).toBe(4_999);
    expect(steps).toContain(7);
    expect(series[1]!.mean.filter((value) => value !== null)).toEqual([0]);
  });

  it("are empty without runs", () => {
    expect(joinCurves([])).toEqual({ steps: [], times: [], series: [] });
  });
});
