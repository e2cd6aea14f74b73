import { describe, expect, it } from "vitest";
import { type Baseline, withMeasured } from "../../../src/domain/CollapseMeans.ts";
import { regimeOf } from "../../../src/selection/diagnostics/regimeOf.ts";

const baseline = { entropy: 1.2, information: 0.4 };
const bound = Math.log(16);
const early = { ...baseline, informationSeq: 2, bound };

describe("the regime of a measurement", () => {
  it("is told by H(Z|X) and I(X;Z) against the run's own beginning", () => {
    expect(regimeOf(early, baseline)).toBe("healthy");
    expect(regimeOf({ ...early, information: 0.1 }, baseline)).toBe("template_collapse");
    expect(regimeOf({ ...early, entropy: 0.3 }, baseline)).toBe("compressed");
    expect(regimeOf({ ...early, entropy: 0.3, information: 0.1 }, baseline)).toBe("entropy_collapse");
  });

  it("is a collapse where nothing was told from the beginning", () => {
    const blind = { entropy: 1.2, information: 0.001, informationSeq: 0.02, bound };
    expect(regimeOf(blind, blind)).toBe("template_collapse");
    expect(regimeOf({ ...blind, information: -0.001, informationSeq: -0.02 }, blind)).toBe("template_collapse");
  });

  it("stays with a baseline of the first three measurements", () => {
    const values = [0.4, 0.6, 0.5, 5, 7];
    const after = values.reduce<Baseline | null>(
      (before, information) => withMeasured(before, { information, entropy: 2 * information }),
      null,
    );
    expect(after).toEqual({ count: 3, information: expect.closeTo(0.5, 12), entropy: expect.closeTo(1, 12) });
  });
});
