import { describe, expect, it } from "vitest";
import { keyInfos } from "../../src/config/describe.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { byNearest, distance } from "../../src/support/text/nearest.ts";

const all = keyInfos(RunConfig);

describe("the list of keys", () => {
  it("says what a key means, its default and its values", () => {
    expect(all.find(({ key }) => key === "pipeline.window_order")).toEqual({
      key: "pipeline.window_order",
      description:
        "Groups that form a window: the oldest admitted, or the first finished, which favours short episodes.",
      default: "admission",
      expected: "one of admission, completion",
    });
  });

  it("has a sentence for every key", () => {
    const silent = all.filter(({ description }) => description === "").map(({ key }) => key);
    expect(silent).toEqual([]);
  });

  it("has a default for every key of the run file itself", () => {
    const topLevel = all.filter(({ key }) => !key.includes(".TAG."));
    expect(topLevel.filter((info) => info.default === "").map(({ key }) => key)).toEqual([]);
  });
});

describe("the nearest word", () => {
  it("counts insertions, deletions, changes and swapped neighbours as one each", () => {
    expect(distance("mode", "modes")).toBe(1);
    expect(distance("mode", "mde")).toBe(1);
    expect(distance("mode", "node")).toBe(1);
    expect(distance("mode", "mdoe")).toBe(1);
    expect(distance("", "abc")).toBe(3);
  });

  it("comes first, whatever its case", () => {
    expect(byNearest("frozenlake", ["Bandit", "CoordFrozenLake", "FrozenLake"])[0]).toBe("FrozenLake");
  });
});
