/** The table of a sweep's paired differences, over records that are made up. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { type Comparison, type PairedRun, pairedRows } from "../../bench/learning/pairedTable.ts";

/** A run of five instances: its validations before training, halfway and at the end, with the tokens until then. */
const run = (
  seed: number,
  halfway: string,
  end: string,
  tokens: readonly [number, number] = [100, 200],
): PairedRun => ({
  seed,
  seconds: 60 * (seed + 1),
  records: [
    { step: 10, tokens: tokens[0] },
    { step: 20, tokens: tokens[1] },
  ],
  validations: [
    { step: 0, success: "00000" },
    { step: 10, success: halfway },
    { step: 20, success: end },
  ],
});

type Points = Readonly<Record<string, readonly PairedRun[]>>;

const overSteps: Comparison = { over: "step", until: null, reference: null };
const overTokens: Comparison = { ...overSteps, over: "tokens" };

const rowsOf = (points: Points, comparison: Comparison) =>
  Result.getOrThrow(pairedRows(new Map(Object.entries(points)), comparison));

/** The column's cells, the point first. */
const column = (points: Points, title: string, comparison = overSteps) => {
  const [head = [], ...rows] = rowsOf(points, comparison);
  const at = head.indexOf(title);
  expect(at).toBeGreaterThan(0);
  return rows.map((cells) => [cells[0], cells[at]]);
};

describe("the paired differences of a sweep", () => {
  it("compares a point with the first on the instances of the seeds that both have", () => {
    const points = {
      none: [run(0, "00000", "11000"), run(1, "00000", "11000"), run(2, "11111", "11111")],
      lever: [run(0, "00000", "11100"), run(1, "00000", "11110")],
    };
    expect(column(points, "end %")).toEqual([
      ["none", expect.stringMatching(/^60\.0 \[/)],
      ["lever", expect.stringMatching(/^70\.0 \[/)],
    ]);
    expect(column(points, "difference, points")).toEqual([
      ["none", ""],
      ["lever", expect.stringMatching(/^30\.0 \[/)],
    ]);
    expect(column(points, "seeds")).toEqual([
      ["none", "0, 1, 2"],
      ["lever", "0, 1"],
    ]);
  });

  it("compares with a named point instead, if it has a run", () => {
    const points = {
      none: [run(0, "00000", "11000")],
      lever: [run(0, "00000", "11100")],
      other: [run(0, "00000", "11111")],
    };
    const differences = column(points, "difference, points", { ...overSteps, reference: "lever" });
    expect(differences).toEqual([
      ["none", expect.stringMatching(/^-20\.0 \[/)],
      ["lever", ""],
      ["other", expect.stringMatching(/^40\.0 \[/)],
    ]);
    const refused = Result.flip(pairedRows(new Map(Object.entries(points)), { ...overSteps, reference: "levr" }));
    expect(Result.getOrThrow(refused).message).toBe("--reference levr: no point with a run; nearest: lever");
  });

  it("takes the episodes of one instance together", () => {
    const instances = [0, 0, 0, 0, 4];
    const points = {
      none: [{ ...run(0, "00000", "11110"), instances }],
      lever: [{ ...run(0, "00000", "11111"), instances }],
    };
    // A resample of two instances may hold either one twice.
    expect(column(points, "end %")[0]).toEqual(["none", "80.0 [0.0, 100.0]"]);
    expect(column(points, "difference, points")[1]).toEqual(["lever", "20.0 [0.0, 100.0]"]);
  });

  it("gives an interval without width where every instance gains the same", () => {
    const points = { none: [run(0, "00000", "00000")], lever: [run(0, "00000", "11111")] };
    expect(column(points, "difference, points")[1]).toEqual(["lever", "100.0 [100.0, 100.0]"]);
  });

  it("averages over the run without the validation of the starting weights", () => {
    const points = { none: [run(0, "10000", "11100")] };
    expect(column(points, "over the run %")[0]?.[1]).toMatch(/^40\.0 \[/);
  });

  it("gives each seed's end and the mean minutes", () => {
    const points = { none: [run(0, "00000", "10000"), run(1, "00000", "11000")] };
    expect(column(points, "each seed")).toEqual([["none", "20.0, 40.0"]]);
    expect(column(points, "minutes")).toEqual([["none", "1.5"]]);
  });

  it("leaves out points without a run, and the difference where no seed is in both", () => {
    const points = { none: [run(0, "00000", "11000")], empty: [], other: [run(1, "00000", "11100")] };
    expect(column(points, "difference, points")).toEqual([
      ["none", ""],
      ["other", ""],
    ]);
  });

  it("compares points over the tokens that every run spent, and not beyond", () => {
    const points = {
      cheap: [run(0, "11110", "11111", [50, 100])],
      dear: [run(0, "11000", "11111", [80, 200])],
    };
    const rows = column(points, "over equal tokens %", overTokens);
    // Half of 100 tokens at 4 of 5 and half at 5; 80 tokens at 2 of 5 and 20 at 5.
    expect(rows).toEqual([
      ["cheap", expect.stringMatching(/^90\.0 \[/)],
      ["dear", expect.stringMatching(/^52\.0 \[/)],
    ]);
  });

  it("gives what each seed spent until a validation reached a success", () => {
    const points = { none: [run(0, "00000", "11110", [50, 1234]), run(1, "11100", "11111"), run(2, "00000", "11000")] };
    const rows = column(points, "tokens until 60.0 %", { ...overTokens, until: 0.6 });
    expect(rows).toEqual([["none", "1.23e3, 100, never"]]);
  });

  it("gives the mean amount of a point's runs", () => {
    const points = { none: [run(0, "00000", "11110", [50, 1000]), run(1, "00000", "11110", [50, 2000])] };
    expect(column(points, "tokens in all", overTokens)).toEqual([["none", "1.50e3"]]);
  });

  it.each([
    [
      "has no validation behind the one of its start",
      { validations: run(3, "00000", "00000").validations.slice(0, 1) },
    ],
    ["has no tokens at step 10", { records: [{ step: 20, tokens: 200 }] }],
  ])("refuses a run that %s", (reason, changed) => {
    const points = new Map([["lever", [{ ...run(3, "00000", "00000"), ...changed }]]]);
    const refused = Result.getOrThrow(Result.flip(pairedRows(points, overTokens)));
    expect(refused.message).toBe(`the run of lever with seed 3 ${reason}`);
  });
});
