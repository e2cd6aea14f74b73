import { describe, expect, it } from "vitest";
import { bootstrap, clusterBootstrap, mcnemar, wilson } from "../../../src/domain/intervals.ts";
import { comparison, obstacle, type Result } from "../../../src/tools/evaluation/Comparison.ts";
import { pairTable, rowTable } from "../../../src/tools/evaluation/comparisonText.ts";
import { ofEpisodes } from "../../../src/tools/evaluation/contestants.ts";
import { episode } from "./made.ts";

const result = (seed: number, success: number, changes: Partial<Result> = {}): Result => ({
  tag: "Lake",
  seed,
  instance: `lake ${seed}`,
  successes: [success],
  returns: [success],
  ...changes,
});
const contestant = (name: string, ...successes: readonly number[]) => ({
  name,
  results: successes.map((success, seed) => result(seed, success)),
});

describe("a comparison", () => {
  it("takes differences instance by instance, each less the first", () => {
    const { pairs, rows } = comparison([contestant("a", 0, 0, 1, 1), contestant("b", 1, 1, 0, 1)]);
    expect(rows.map(({ name, success }) => [name, success])).toEqual([
      ["a", wilson(2, 4)],
      ["b", wilson(3, 4)],
    ]);
    expect(pairs).toEqual([
      {
        name: "b",
        against: "a",
        instances: 4,
        unmatched: 0,
        success: bootstrap([1, 1, -1, 0]),
        gained: 2,
        lost: 1,
        p: mcnemar(2, 1),
        return: bootstrap([1, 1, -1, 0]),
      },
    ]);
  });

  it("is narrower than one of instances that are not matched, where both find the same ones hard", () => {
    const hard = Array.from({ length: 200 }, (_, seed) => (seed % 2 === 0 ? 0 : 1));
    const { pairs, rows } = comparison([
      contestant("a", ...hard),
      contestant("b", ...hard.map((success, i) => (i < 10 ? 1 : success))),
    ]);
    const paired = pairs[0]!.success.high - pairs[0]!.success.low;
    const alone = rows[0]!.success.high - rows[0]!.success.low;
    expect(paired).toBeLessThan(alone / 2);
  });

  it("counts instances that only one has played, and leaves them out", () => {
    const { pairs } = comparison([contestant("a", 0, 1, 1), contestant("b", 1)]);
    expect(pairs[0]).toMatchObject({ instances: 1, unmatched: 2, success: { mean: 1 } });
  });

  it("takes the mean of an instance that was played more than once, and tests nothing", () => {
    const a = {
      name: "a",
      results: [
        result(0, 0, { successes: [0, 1], returns: [0, 2] }),
        result(1, 1, { successes: [1, 1], returns: [1, 1] }),
      ],
    };
    const { pairs, rows } = comparison([a, contestant("b", 1, 1)]);
    expect(rows[0]).toMatchObject({ episodes: 4, success: { mean: 0.75 }, return: { mean: 1 } });
    expect(pairs[0]).toMatchObject({ success: { mean: 0.25 }, gained: null, lost: null, p: null, return: { mean: 0 } });
  });

  it("takes seeds of one content for one instance, which was played more than once", () => {
    const twice = (name: string, ...successes: readonly number[]) => ({
      name,
      results: successes.map((success, seed) => result(seed, success, { instance: seed < 2 ? "lake 0" : "lake 2" })),
    });
    const { pairs, rows } = comparison([twice("a", 0, 0, 1), twice("b", 1, 1, 1)]);
    expect(rows[0]).toMatchObject({ episodes: 3, success: clusterBootstrap([[0, 0], [1]]) });
    expect(pairs[0]).toMatchObject({ instances: 2, success: clusterBootstrap([[1, 1], [0]]), gained: null, p: null });
  });

  it("takes the instance from whoever recorded it", () => {
    const unrecorded = { name: "a", results: [0, 1].map((seed) => result(seed, 0, { instance: null })) };
    const recorded = { name: "b", results: [0, 1].map((seed) => result(seed, 1, { instance: "one" })) };
    expect(comparison([unrecorded, recorded]).pairs[0]).toMatchObject({ instances: 1, p: null });
  });

  it("has no returns where one of two did not record them", () => {
    const b = { name: "b", results: [result(0, 1, { returns: null, instance: null })] };
    const { pairs, rows } = comparison([contestant("a", 0), b]);
    expect([rows[1]?.return, pairs[0]?.return]).toEqual([null, null]);
    expect(rowTable({ pairs, rows })[2]?.at(-1)).toBe("-");
  });

  it("shows presets apart where there are several", () => {
    const a = { name: "a", results: [result(0, 1), result(1, 0, { tag: "Box" })] };
    expect(rowTable(comparison([a]))[0]).toEqual(["MODEL", "EPISODES", "SUCCESS %", "Lake %", "Box %", "RETURN"]);
  });

  it("shows signs of differences", () => {
    const rows = pairTable(comparison([contestant("a", 0, 0), contestant("b", 1, 1)]));
    expect(rows[1]).toEqual(["b", "2", "+100.0 [+100.0, +100.0]", "+2 -0", "0.500", "+1.00 [+1.00, +1.00]"]);
  });

  it("leaves out who has not played", () => {
    expect(comparison([{ name: "none", results: [] }, contestant("a", 1)]).rows.map(({ name }) => name)).toEqual(["a"]);
  });
});

describe("what keeps two from being compared", () => {
  it("is that they share no instance", () => {
    expect(obstacle(contestant("a", 1), { name: "b", results: [result(7, 1)] })).toBe("they share no instance");
  });

  it("is an instance of other content under the same seed", () => {
    const b = { name: "b", results: [result(0, 1, { instance: "other" })] };
    expect(obstacle(contestant("a", 1), b)).toBe("the instance of Lake with the seed 0 is not the same");
  });

  it("is nothing where content was not recorded", () => {
    expect(obstacle(contestant("a", 1), { name: "b", results: [result(0, 1, { instance: null })] })).toBe(null);
  });
});

it("takes the episodes of an instance together", () => {
  const results = ofEpisodes([episode({ group: 1, seed: 124 }), episode({ member: 1 }), episode()]);
  expect(results.map(({ seed, successes }) => [seed, successes.length])).toEqual([
    [123, 2],
    [124, 1],
  ]);
});
