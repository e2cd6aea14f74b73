import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/domain/Episode.ts";
import { stream } from "../../../src/domain/Random.ts";
import { cutTo, draw } from "../../../src/selection/diagnostics/pairs.ts";
import { episodeOfTurns, failed, sampledOf, turnOf } from "../../build/episodes.ts";
import { groupOfEpisodes } from "../../build/groups.ts";

const ids = (...values: readonly number[]): Int32Array => Int32Array.from(values);
/** A turn that shows `prompt` and replies with a thought between two other ids. */
const thinking = (prompt: Int32Array, ...thought: readonly number[]): Turn =>
  turnOf({ prompt, sampled: sampledOf([90, ...thought, 91]), thought: [1, 1 + thought.length] });
const silent = (prompt: Int32Array): Turn => turnOf({ prompt, sampled: sampledOf([92]) });

const windows = [
  groupOfEpisodes(3, [
    episodeOfTurns(3, 0, [thinking(ids(1, 2), 10), thinking(ids(5), 11, 12)]),
    episodeOfTurns(3, 1, [thinking(ids(1, 2), 13)]),
    episodeOfTurns(3, 2, [silent(ids(1, 2))]),
    episodeOfTurns(3, 3, [thinking(ids(1, 2), 99)], { outcome: failed }),
  ]),
  groupOfEpisodes(7, [
    episodeOfTurns(7, 0, [silent(ids(4)), thinking(ids(6), 14)]),
    episodeOfTurns(7, 1, [thinking(ids(4), 15)]),
  ]),
];

const random = (seed = 1) => stream({ seed, purpose: "diagnostics", counters: [] });
const plain = (arrays: readonly Int32Array[]) => arrays.map((array) => [...array]);

describe("pairs of first turns", () => {
  const drawn = draw("first_turn", windows, 64, random());

  it("are each usable episode's first thought, once, in random order", () => {
    expect(plain(drawn.pairs.map(({ thought }) => thought)).toSorted()).toEqual([[10], [13], [15]]);
    expect(draw("first_turn", windows, 64, random())).toEqual(drawn);
    const orders = Array.from({ length: 8 }, (_, seed) => draw("first_turn", windows, 64, random(seed)));
    expect(new Set(orders.map(({ pairs }) => plain(pairs.map(({ thought }) => thought)).join())).size).toBeGreaterThan(
      1,
    );
  });

  it("have a column for each group, shown up to the thought", () => {
    expect(plain(drawn.columns)).toEqual([
      [1, 2, 90],
      [4, 90],
    ]);
    expect(drawn.ownColumns).toEqual(drawn.pairs.map(({ group }) => (group === 3 ? 0 : 1)));
  });

  it("keep all columns when fewer are taken", () => {
    const fewer = draw("first_turn", windows, 1, random());
    expect([fewer.pairs.length, fewer.columns.length]).toEqual([1, 2]);
    expect(cutTo("first_turn", drawn, 1)).toEqual(fewer);
  });
});

describe("pairs of any turns", () => {
  const drawn = draw("trajectory", windows, 5, random());

  it("show all that came before the thought in its sequence", () => {
    const late = draw("trajectory", windows, 400, random()).pairs.find(({ thought }) => thought[0] === 11);
    expect([...(late?.prompt ?? [])]).toEqual([1, 2, 90, 10, 91, 5, 90]);
  });

  it("are drawn with replacement, each with a column of its own", () => {
    expect(drawn.pairs).toHaveLength(5);
    expect(drawn.ownColumns).toEqual([0, 1, 2, 3, 4]);
    expect(drawn.columns).toEqual(drawn.pairs.map(({ prompt }) => prompt));
  });

  it("take every episode equally often, however many turns it has", () => {
    const counts = new Map<number, number>();
    for (let seed = 0; seed < 400; seed++) {
      for (const { thought } of draw("trajectory", windows, 5, random(seed)).pairs) {
        counts.set(thought[0]!, (counts.get(thought[0]!) ?? 0) + 1);
      }
    }
    const share = (...firsts: readonly number[]) => firsts.reduce((sum, id) => sum + (counts.get(id) ?? 0), 0) / 2000;
    expect(share(10, 11)).toBeCloseTo(0.25, 1);
    expect([share(13), share(14), share(15)].every((one) => Math.abs(one - 0.25) < 0.04)).toBe(true);
    expect(share(10)).toBeCloseTo(0.125, 1);
  });

  it("are as many as there are thoughts, where all are asked for", () => {
    expect(draw("trajectory", windows, Number.POSITIVE_INFINITY, random()).pairs).toHaveLength(5);
    expect(draw("trajectory", [], 8, random()).pairs).toEqual([]);
  });

  it("lose their columns when fewer are taken", () => {
    const fewer = cutTo("trajectory", drawn, 2);
    expect([fewer.pairs.length, fewer.columns.length, fewer.ownColumns.length]).toEqual([2, 2, 2]);
    expect(fewer.pairs).toEqual(draw("trajectory", windows, 2, random()).pairs);
  });
});
