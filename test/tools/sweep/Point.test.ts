/** From a sweep file to its points and runs. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { overridesOf, pointsOf, runsOf } from "../../../src/tools/sweep/Point.ts";
import { read, type SweepFile } from "../../../src/tools/sweep/SweepFile.ts";

type Keys = Readonly<Record<string, unknown>>;

const file = (keys: Keys): SweepFile => Result.getOrThrow(read({ config: "x", ...keys }, "s.yaml"));
const points = (keys: Keys) => Result.getOrThrow(pointsOf(file(keys), "s.yaml"));
const refused = (keys: Keys): string => {
  const result = Result.flatMap(read({ config: "x", ...keys }, "s.yaml"), (sweep) => pointsOf(sweep, "s.yaml"));
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

describe("a grid", () => {
  it("has every combination of its axes, the last changing fastest", () => {
    const grid = { "filter.value": [1, 0.9], filter: { on: { "filter.include_zero": false }, off: {} } };
    expect(points({ grid })).toEqual([
      { name: "value=1,on", settings: { "filter.value": 1, "filter.include_zero": false } },
      { name: "value=1,off", settings: { "filter.value": 1 } },
      { name: "value=0.9,on", settings: { "filter.value": 0.9, "filter.include_zero": false } },
      { name: "value=0.9,off", settings: { "filter.value": 0.9 } },
    ]);
  });

  it("names keys by as many of their last words as tell them apart", () => {
    const names = points({ grid: { "actor.lr": [1], "critic.lr": [2], "algorithm.lam": [3] } }).map(({ name }) => name);
    expect(names).toEqual(["actor.lr=1,critic.lr=2,lam=3"]);
  });

  it("names values as a folder may be named, and long ones by a hash", () => {
    const named = (value: unknown) => points({ grid: { "a.b": [value] } })[0]!.name;
    expect(named("a/b c")).toBe("b=a-b-c");
    expect(named([8, 16])).toBe("b=8-16");
    expect([named(true), named(-1), named(null)]).toEqual(["b=true", "b=-1", "b=null"]);
    const [one, other] = [named("x".repeat(400)), named(`${"x".repeat(400)}y`)];
    expect(one.length).toBeLessThanOrEqual(120);
    expect(one).not.toBe(other);
  });

  it("stands beside the points that are named one by one", () => {
    const names = points({ grid: { "a.b": [1, 2] }, points: { none: { "a.b": 3 } } }).map(({ name }) => name);
    expect(names).toEqual(["b=1", "b=2", "none"]);
  });
});

describe("a run", () => {
  it("is a point under a seed, named so", () => {
    const sweep = file({ points: { one: {}, two: { "a.b": 1 } }, seeds: [3, 4] });
    const runs = runsOf(sweep, Result.getOrThrow(pointsOf(sweep, "s")));
    expect(runs.map(({ name }) => name)).toEqual(["one,seed=3", "one,seed=4", "two,seed=3", "two,seed=4"]);
  });

  it("takes the file's overrides, the command line's, its point's, its seed and its folder, in this order", () => {
    const sweep = file({
      overrides: { "a.b": "x", "c.d": [1] },
      points: { one: { "e.f": null } },
      seed_keys: ["run.seed", "g.h"],
    });
    const [run] = runsOf(sweep, Result.getOrThrow(pointsOf(sweep, "s")));
    expect(overridesOf(sweep, run!, "/runs/s", ["a.b=y"])).toEqual([
      'a.b="x"',
      "c.d=[1]",
      "a.b=y",
      "e.f=null",
      "run.seed=0",
      "g.h=0",
      'run.dir="/runs/s"',
      'run.name="one,seed=0"',
    ]);
  });
});

describe("a sweep file is refused", () => {
  it.each([
    [{}, "no point"],
    [{ grid: { "a.b": [] } }, "grid"],
    [{ grid: { "a.b": 1 } }, "grid"],
    [{ grid: { kl: {} } }, "grid: kl has no setting"],
    [{ points: { "a/b": {} } }, "points"],
    [{ grid: { "a.b": [1], more: { one: { "a.b": 2 } } } }, '"a.b" is set by two axes'.replaceAll('"', "")],
    [{ grid: { "actor.lr": [1], "actor_rollout_ref.actor.optim.lr": [1] } }, "actor.lr is set by two axes"],
    [{ grid: { "a.b": [1, 1] } }, "two points are named"],
    [{ points: { one: { "a.b": 1 }, two: { "a.b": 1 } } }, '"one" and "two" are the same point'],
    [{ points: { one: { "run.seed": 1 } } }, "run.seed: the sweep sets this key itself"],
    [{ points: { one: { "run.name": "x" } } }, "run.name: the sweep sets this key itself"],
    [{ points: { one: {} }, seeds: [1, 1] }, "seeds: 1 is listed twice"],
    [{ points: { one: {} }, seeds: [] }, "seeds"],
    [{ points: { one: {} }, sedes: [1] }, "sedes: unknown key"],
    [{ points: { one: {} }, metrics: [{ metric: "val-env/sucess" }] }, "nearest: "],
    [
      {
        points: { one: {} },
        metrics: [{ metric: "ledger/tokens/admitted", until: { metric: "val-env/sucess", value: 1 } }],
      },
      "nearest: ",
    ],
    [
      {
        points: { one: {} },
        metrics: [{ metric: "train/success", of: ["last"], until: { metric: "val-env/success", value: 1 } }],
      },
      "of and until are two columns",
    ],
    [
      { points: { one: {} }, metrics: [{ metric: "val-env/success", of: ["peak"] }] },
      "expected one of best, least, area, last",
    ],
    [
      { grid: { "a.b": Array.from({ length: 1000 }, (_, i) => i), "c.d": Array.from({ length: 1000 }, (_, i) => i) } },
      "10000 are taken",
    ],
  ])("%j", (keys, message) => {
    expect(refused(keys as Keys)).toContain(message);
    expect(refused(keys as Keys)).toContain("s.yaml: ");
  });
});
