/** Tokens are shaded on one scale for all episodes shown. */
import { describe, expect, it } from "vitest";
import { available, scaleOf, shadings, strength } from "../../../../../src/observe/watch/page/episodes/shade.ts";
import { episodeRecord, turnRecord } from "../../../../build/records.ts";

const one = episodeRecord({ turns: [turnRecord(["a", "b"], { mu: [-0.5, -4], entropies: [1, 3], versions: [7, 9] })] });
const other = episodeRecord({
  turns: [turnRecord(["c"], { mu: [-1], entropies: [2], versions: [8], advantages: [-2], values: [0.5] })],
});
const both = [one, other];

describe("a scale", () => {
  it("spans the numbers of all episodes, from certain to their least log-probability", () => {
    expect(scaleOf(both, "logprob")).toMatchObject({ least: -4, greatest: 0 });
    expect(scaleOf(both, "entropy")).toMatchObject({ least: 0, greatest: 3 });
    expect(scaleOf(both, "version")).toMatchObject({ least: 7, greatest: 9 });
    expect(scaleOf(both, "advantage")).toMatchObject({ least: -2, greatest: 2, diverging: true });
  });

  it("is missing where nothing is recorded", () => {
    expect(scaleOf([one], "advantage")).toBeNull();
    expect(available([one])).toEqual(["logprob", "entropy", "version"]);
    expect(available(both)).toEqual([...shadings]);
    expect(available([])).toEqual([]);
  });

  it.each([
    ["logprob", 0, 0],
    ["logprob", -4, 1],
    ["logprob", -1, 0.25],
    ["entropy", 0, 0],
    ["entropy", 3, 1],
    ["version", 7, 0],
    ["version", 9, 1],
    ["advantage", -2, -1],
    ["advantage", 0, 0],
    ["advantage", 1, 0.5],
    ["value", Number.NaN, 0],
  ] as const)("of %s gives %d the strength %d", (shading, value, expected) => {
    expect(strength(scaleOf(both, shading)!, value)).toBeCloseTo(expected);
  });

  it("is not stretched by a single far number", () => {
    const advantages = [...Array.from({ length: 39 }, (_, i) => (i % 2 === 0 ? 1 : -1)), 50];
    const turn = turnRecord(advantages.map(String), { advantages });
    expect(scaleOf([episodeRecord({ turns: [turn] })], "advantage")).toMatchObject({ least: -1, greatest: 1 });
  });

  it("tells nothing apart where all tokens are one version's", () => {
    const scale = scaleOf([episodeRecord({ turns: [turnRecord(["a"], { versions: [5] })] })], "version")!;
    expect(strength(scale, 5)).toBe(0);
  });
});
