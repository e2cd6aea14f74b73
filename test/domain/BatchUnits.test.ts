import { describe, expect, it } from "vitest";
import { episodesOf, trajectoriesOf, turnsIn } from "../../src/domain/BatchUnits.ts";

/** Two episodes of group 0, of two sequences and of one, and one of group 1; two tokens each. */
const batch = {
  offsets: Int32Array.of(0, 2, 4, 6, 8),
  groups: Int32Array.of(0, 0, 0, 1),
  members: Int32Array.of(0, 0, 1, 0),
  sequenceIndex: Int32Array.of(0, 1, 0, 0),
};

describe("an episode of a batch", () => {
  it("is all sequences of one group and member, in the order they were played", () => {
    expect(episodesOf(batch)).toEqual([[0, 1], [2], [3]]);
    expect(episodesOf({ ...batch, sequenceIndex: Int32Array.of(1, 0, 0, 0) })).toEqual([[1, 0], [2], [3]]);
  });

  it("is one trajectory where turns carry rewards, and as many as it has sequences where each carries the score", () => {
    expect(trajectoriesOf({ ...batch, placement: "turn" })).toEqual([[0, 1], [2], [3]]);
    expect(trajectoriesOf({ ...batch, placement: "sequence" })).toEqual([[0], [1], [2], [3]]);
  });
});

it("a turn is a run of trained tokens", () => {
  expect(turnsIn([0, 1, 1, 0, 0, 1])).toEqual([
    [1, 2],
    [5, 5],
  ]);
  expect(turnsIn([1, 0, 1])).toEqual([
    [0, 0],
    [2, 2],
  ]);
  expect(turnsIn([0, 0])).toEqual([]);
});
