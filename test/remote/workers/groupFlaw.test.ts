import { describe, expect, it } from "vitest";
import type { Sampled, Turn } from "../../../src/domain/Episode.ts";
import type { Group } from "../../../src/domain/Group.ts";
import { findFlaw, type GroupBounds } from "../../../src/remote/workers/groupFlaw.ts";
import { groupWith, plainTurn, prompt } from "./groups.ts";

const bounds: GroupBounds = {
  limits: { max_turn: 2, max_model_len: 16, response_length: 4, summary_length: 3, max_actions_per_turn: 1 },
  vocabulary: 10,
  newestVersion: 4,
};

const sampling = (changes: Partial<Sampled>): Turn => ({ ...plainTurn, sampled: { ...plainTurn.sampled, ...changes } });
const flaw = (group: Group) => findFlaw(group, bounds)?.why;

const wrong: readonly (readonly [string, Group])[] = [
  ["is not in the vocabulary", groupWith(sampling({ ids: Int32Array.of(4, 10) }))],
  ["is not in the vocabulary", groupWith(sampling({ ids: Int32Array.of(-1, 4) }))],
  ["prompt is not in the vocabulary", groupWith({ ...plainTurn, prompt: Int32Array.of(99) })],
  ["log-probability", groupWith(sampling({ mu: Float32Array.of(0.1, -1) }))],
  ["log-probability", groupWith(sampling({ mu: Float32Array.of(Number.NaN, -1) }))],
  ["log-probability", groupWith(sampling({ mu: Float32Array.of(Number.NEGATIVE_INFINITY, -1) }))],
  ["entropy", groupWith(sampling({ entropies: Float32Array.of(-1, 1) }))],
  ["not finite", groupWith({ ...plainTurn, reward: Number.POSITIVE_INFINITY })],
  ["out of range", groupWith({ ...plainTurn, reward: 1.7e308 })],
  ["not finite", groupWith({ ...plainTurn, info: { success: Number.NaN } })],
  ["too many actions", groupWith({ ...plainTurn, executed: 2 })],
  ["too many actions", groupWith({ ...plainTurn, actions: ["Up", "Up"] })],
  ["outside of its reply", groupWith({ ...plainTurn, thought: [0, 3] })],
  [
    "6 tokens",
    groupWith(
      sampling({
        ids: new Int32Array(6),
        mu: new Float32Array(6),
        versions: new Int32Array(6).fill(3),
        entropies: new Float32Array(6),
      }),
    ),
  ],
  ["sequence has 22 ids", groupWith({ ...plainTurn, prompt: new Int32Array(20) })],
  ["1 episodes", { ...groupWith(), episodes: groupWith().episodes.slice(1) }],
  [
    "another seed",
    { ...groupWith(), episodes: groupWith().episodes.map((each) => ({ ...each, seed: prompt.seed + 1 })) },
  ],
  [
    "different seeds",
    { ...groupWith(), episodes: groupWith().episodes.map((each, i) => ({ ...each, seed: prompt.seed + i * 2 ** 32 })) },
  ],
  [
    "more turns",
    {
      ...groupWith(),
      episodes: groupWith().episodes.map((each) => ({
        ...each,
        sequences: [{ turns: [plainTurn, plainTurn, plainTurn] }],
      })),
    },
  ],
];

const agentTurn = (number: number, parent: number | null): Turn => ({
  ...plainTurn,
  call: { number, parent, fork: null, added: [], calls: [], problems: [] },
});
const agentGroup = (turns: readonly Turn[], discarded: readonly Turn[] = []): Group => ({
  ...groupWith(),
  episodes: groupWith().episodes.map((each) => ({ ...each, sequences: [{ turns }], discarded })),
});

const wrongCalls: readonly (readonly [string, Group])[] = [
  ["is no call", agentGroup([agentTurn(0, null), plainTurn])],
  ["is no call", agentGroup([plainTurn], [plainTurn])],
  ["same number", agentGroup([agentTurn(0, null)], [agentTurn(0, null)])],
  ["none before it", agentGroup([agentTurn(0, null), agentTurn(1, 2)])],
  ["none before it", agentGroup([agentTurn(1, null), agentTurn(0, 1)])],
  [
    "more turns",
    agentGroup(
      [agentTurn(0, null)],
      [1, 2, 3, 4].map((number) => agentTurn(number, null)),
    ),
  ],
  ["sequence has 22 ids", agentGroup([agentTurn(0, null)], [{ ...agentTurn(1, null), prompt: new Int32Array(20) }])],
];

describe("the examination of a group that was played elsewhere", () => {
  it("finds nothing wrong with what a worker plays", () => {
    expect(flaw(groupWith())).toBeUndefined();
    const moved = groupWith().episodes.map((each) => ({ ...each, seed: prompt.seed + 3 * 2 ** 32 }));
    expect(flaw({ ...groupWith(), episodes: moved })).toBeUndefined();
    const unplayed = groupWith().episodes.map((each) => ({ ...each, sequences: [] }));
    expect(flaw({ ...groupWith(), episodes: unplayed })).toBeUndefined();
  });

  it("takes calls that are a tree", () => {
    expect(flaw(agentGroup([agentTurn(0, null), agentTurn(2, 0)], [agentTurn(1, 0)]))).toBeUndefined();
  });

  it.each([...wrong, ...wrongCalls])("refuses one whose %s", (why, group) => {
    expect(flaw(group)).toContain(why);
    expect(findFlaw(group, bounds)?.kind).toBe("refused");
  });

  it("calls a group stale with a token older than its admission, or of weights that are not made yet", () => {
    for (const version of [2, 5]) {
      const versions = Int32Array.of(3, version);
      expect(findFlaw(groupWith(sampling({ versions })), bounds)).toMatchObject({ kind: "stale" });
    }
  });
});
