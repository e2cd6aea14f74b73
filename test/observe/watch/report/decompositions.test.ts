import { describe, expect, it } from "vitest";
import { barsOf } from "../../../../src/observe/watch/page/report/GradientBars.ts";
import { decompositionsOf, normNames } from "../../../../src/observe/watch/report/decompositions.ts";

const names = ["grad_norm/all/task", "grad_norm/bucket_2/kl", "grad_norm/bucket_10/task", "grad_norm/bucket_2/task"];
const curves = (steps: readonly number[], values: readonly (number | null)[]) => ({
  steps,
  times: steps,
  series: names.map((name, i) => {
    const mean = values.map((value) => (value === null ? null : value * (i + 1)));
    return { name, mean, min: mean, max: mean };
  }),
});

describe("gradient norms in a report", () => {
  it("are those of the parts, by bucket", () => {
    const others = [
      "grad_norm/all/loss/kl",
      "grad_norm/all/sample_count",
      "actor/grad_norm/task",
      "grad_norm_prefilter/all/task",
    ];
    expect(normNames([...others, ...names])).toEqual(names);
  });

  it("come from the steps that were analysed, buckets in order and the whole last", () => {
    const steps = decompositionsOf(curves([1, 2, 51], [2, null, 3]), 6);
    expect(steps.map(({ step }) => step)).toEqual([1, 51]);
    expect(steps[0]?.buckets).toEqual([
      { name: "bucket_2", task: 8, entropy: null, kl: 4 },
      { name: "bucket_10", task: 6, entropy: null, kl: null },
      { name: "all", task: 2, entropy: null, kl: null },
    ]);
  });

  it("are of few steps, the first and the last among them", () => {
    const many = Array.from({ length: 40 }, (_, i) => 1 + 50 * i);
    const steps = decompositionsOf(curves(many, many), 6).map(({ step }) => step);
    expect(steps).toHaveLength(6);
    expect([steps[0], steps.at(-1)]).toEqual([1, many.at(-1)]);
  });

  it("are bars as high as their share of the highest, each part on its own scale", () => {
    const steps = decompositionsOf(curves([1, 51], [2, 4]), 6);
    const drawn = barsOf(steps, "task");
    expect(drawn?.top).toBe(16);
    const highest = Math.max(...(drawn?.bars ?? []).map(({ height }) => height));
    expect(drawn?.bars.map(({ height, label }) => [label, height / highest])).toContainEqual([
      "step 1, bucket_10: 6",
      6 / 16,
    ]);
    expect(barsOf(steps, "kl")?.top).toBe(8);
    expect(barsOf(steps, "entropy")).toBeNull();
  });
});
