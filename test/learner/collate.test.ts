import { describe, expect, it } from "vitest";
import type { Episode, Turn } from "../../src/domain/Episode.ts";
import type { ScoredGroup } from "../../src/domain/Group.ts";
import { episodeScores } from "../../src/domain/Placement.ts";
import { collate } from "../../src/learner/collate.ts";
import { episodeOf, sampledOf, turnOf } from "../build/episodes.ts";
import { scoredGroupOf } from "../build/groups.ts";

const turn = (prompt: readonly number[], ids: readonly number[], version = 3): Turn =>
  turnOf({
    prompt: Int32Array.from(prompt),
    sampled: sampledOf(ids, {
      mu: Float32Array.from(ids, (id) => -id),
      versions: new Int32Array(ids.length).fill(version),
    }),
  });

interface Played {
  readonly sequences: Episode["sequences"];
  readonly turnScores: readonly number[];
}

const group = (id: number, episodes: readonly Played[]): ScoredGroup =>
  scoredGroupOf(
    id,
    episodes.map(({ sequences, turnScores }, member) => ({
      episode: episodeOf(id, member, { sequences }),
      score: turnScores.reduce((sum, s) => sum + s, 0),
      turnScores,
    })),
  );

const options = { window: 4, temperature: 0.7, keptRatio: 0.5 };
const inOne = (turns: readonly Turn[], turnScores: readonly number[]): Played => ({
  sequences: [{ turns }],
  turnScores,
});
const twoTurns = inOne([turn([1, 2], [3, 4]), turn([5], [6])], [0.5, 2]);

describe("collate", () => {
  it("lays prompts and replies end to end and marks the sampled ids", () => {
    const batch = collate([group(0, [twoTurns])], options);
    expect([...batch.ids]).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...batch.mask]).toEqual([0, 0, 1, 1, 0, 1]);
    expect([...batch.mu]).toEqual([0, 0, -3, -4, 0, -6]);
    expect([...batch.versions]).toEqual([-1, -1, 3, 3, -1, 3]);
    expect([...batch.offsets]).toEqual([0, 6]);
    expect(batch).toMatchObject(options);
  });

  it("places the score on the last sampled token of every sequence, unless turns have scores of their own", () => {
    const [first, second, third] = [turn([1, 2], [3, 4]), turn([5], []), turn([6], [7])];
    const sequences = [{ turns: [first, second] }, { turns: [third] }];
    const scored = group(0, [{ sequences, turnScores: [] }]);
    const episodes = scored.episodes.map(({ episode }) => ({ episode, score: 2.5 }));
    const batch = collate([{ ...scored, episodes }], options);
    expect(batch.placement).toBe("sequence");
    expect([...batch.rewards]).toEqual([0, 0, 0, 2.5, 0, 0, 2.5]);
    expect([...episodeScores(batch)]).toEqual([2.5, 2.5]);
  });

  it("leaves a summary out unless it is trained, and gives it no turn's score", () => {
    const [first, summary, last] = [turn([1], [2]), turn([3], [4]), turn([5], [6])];
    const withSummary = (trained: boolean): Played => ({
      sequences: [{ turns: [first] }, { turns: [summary], summary: { trained } }, { turns: [last] }],
      turnScores: [1, 2],
    });
    const without = collate([group(0, [withSummary(false)])], options);
    expect([...without.sequenceIndex]).toEqual([0, 2]);
    expect([...without.rewards]).toEqual([0, 1, 0, 2]);
    const with_ = collate([group(0, [withSummary(true)])], options);
    expect([...with_.sequenceIndex]).toEqual([0, 1, 2]);
    expect([...with_.rewards]).toEqual([0, 1, 0, 0, 0, 2]);
    expect([...episodeScores(with_)]).toEqual([3, 3, 3]);
  });

  it("places each turn's score on its last sampled token", () => {
    expect([...collate([group(0, [twoTurns])], options).rewards]).toEqual([0, 0, 0, 0.5, 0, 2]);
  });

  it("gives the score of a turn without sampled tokens to the nearest token before it, or after it", () => {
    const late = inOne([turn([1], [2]), turn([3], [])], [1, 4]);
    const early = inOne([turn([1], []), turn([3], [4, 5])], [1, 4]);
    const batch = collate([group(0, [late, early])], options);
    expect([...batch.rewards]).toEqual([0, 5, 0, 0, 0, 0, 5]);
  });

  it("does not depend on the order groups arrive in", () => {
    const groups = [group(2, [twoTurns, twoTurns]), group(0, [twoTurns]), group(1, [twoTurns])];
    const batch = collate(groups, options);
    expect([...batch.groups]).toEqual([0, 1, 2, 2]);
    expect([...batch.members]).toEqual([0, 0, 0, 1]);
    expect(collate(groups.toReversed(), options)).toEqual(batch);
  });

  it("makes one sequence of each of an episode's, in order, and splits the turn scores over them", () => {
    const [first, second, third] = [turn([1, 2], [3, 4]), turn([5], []), turn([6], [7])];
    const parts = { sequences: [{ turns: [first, second] }, { turns: [third] }], turnScores: [0.5, 1, 2] };
    const batch = collate([group(1, [twoTurns, parts]), group(0, [parts])], options);
    expect([...batch.groups]).toEqual([0, 0, 1, 1, 1]);
    expect([...batch.members]).toEqual([0, 0, 0, 1, 1]);
    expect([...batch.sequenceIndex]).toEqual([0, 1, 0, 0, 1]);
    expect([...batch.offsets]).toEqual([0, 5, 7, 13, 18, 20]);
    expect([...batch.ids.subarray(0, 7)]).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect([...batch.rewards.subarray(0, 7)]).toEqual([0, 0, 0, 1.5, 0, 0, 2]);
  });

  it("leaves out a sequence without sampled tokens and keeps its score and the index of the others", () => {
    const parts = { sequences: [{ turns: [turn([1], [])] }, { turns: [turn([2], [3])] }], turnScores: [1, 2] };
    const batch = collate([group(0, [parts])], options);
    expect([...batch.sequenceIndex]).toEqual([1]);
    expect([...batch.rewards]).toEqual([0, 3]);
  });

  it("leaves out an episode without sampled tokens", () => {
    const batch = collate([group(0, [inOne([turn([1], [])], [1]), twoTurns])], options);
    expect([...batch.members]).toEqual([1]);
  });

  it("marks what was shown too, behind the unseen ids of the opening, without mu or version", () => {
    const parts = { sequences: [{ turns: [turn([1, 2, 8], [3, 4]), turn([5], [6])] }], turnScores: [0.5, 2] };
    const sampled = collate([group(0, [parts])], options);
    const batch = collate([group(0, [parts])], { ...options, unseen: () => 2 });
    expect([...batch.mask]).toEqual([0, 0, 1, 1, 1, 1, 1]);
    expect({ ...batch, mask: sampled.mask }).toEqual(sampled);
    expect([...batch.versions]).toEqual([-1, -1, -1, 3, 3, -1, 3]);
  });

  it("marks no first id of a sequence, whatever is unseen of it", () => {
    const parts = { sequences: [{ turns: [turn([1, 2], [3])] }, { turns: [turn([4, 5], [6])] }], turnScores: [1, 1] };
    const batch = collate([group(0, [parts])], { ...options, unseen: () => 0 });
    expect([...batch.mask]).toEqual([0, 1, 1, 0, 1, 1]);
  });

  it("is a plain value whatever the options", () => {
    const batch = collate([group(0, [twoTurns])], { ...options, unseen: () => 1 });
    expect(structuredClone(batch)).toEqual(batch);
  });

  it("makes an empty batch of no groups", () => {
    const batch = collate([], options);
    expect([...batch.offsets]).toEqual([0]);
    expect(batch.ids.length).toBe(0);
  });
});
