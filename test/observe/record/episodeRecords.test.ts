import { describe, expect, it } from "vitest";
import type { CreditedBatch } from "../../../src/domain/Batch.ts";
import { type GroupResult, recordsOf } from "../../../src/observe/record/episodeRecords.ts";
import { readRecord } from "../../../src/observe/record/readRecord.ts";
import { episodeIndexLine } from "../../../src/observe/record/Trajectories.ts";
import { agentEpisode, agentPieces } from "../../build/agentEpisodes.ts";
import { batchWith } from "../../build/batches.ts";
import { episodeOf, episodeOfTurns, failed, sampledOf, turnOf } from "../../build/episodes.ts";
import { groupOfEpisodes } from "../../build/groups.ts";

const pieces = (ids: Iterable<number>): readonly string[] => Array.from(ids, (id) => `<${id}>`);

/** A reply of the ids, each of the version given. */
const replyOf = (ids: readonly number[], version: number) =>
  sampledOf(ids, {
    versions: new Int32Array(ids.length).fill(version),
    mu: new Float32Array(ids.length).fill(-0.123456),
    entropies: new Float32Array(ids.length).fill(0.5),
  });

const turns = [
  turnOf({ prompt: Int32Array.of(1, 2), sampled: replyOf([10, 11], 3), state: "s1", reply: "r1", reward: 1 }),
  turnOf({ prompt: Int32Array.of(4), sampled: replyOf([12], 4), state: "s2", reply: "r2", penalty: -0.1 }),
];
const group = groupOfEpisodes(7, [episodeOfTurns(7, 0, turns), episodeOfTurns(7, 1, [turnOf()], { outcome: failed })]);

/** Member 0 of group 7 behind a sequence of another group. */
const batch: CreditedBatch = {
  ...batchWith({
    window: 2,
    ids: Int32Array.of(0, 0, 1, 2, 10, 11, 4, 12),
    offsets: Int32Array.of(0, 2, 8),
    mask: Uint8Array.of(0, 1, 0, 0, 1, 1, 0, 1),
    groups: Int32Array.of(6, 7),
    members: Int32Array.of(0, 0),
  }),
  advantages: Float32Array.of(9, 9, 0, 0, 0.25, -0.5, 0, 0.75),
  values: Float32Array.of(9, 9, 9, 9, 1, 2, 9, 3),
  returns: new Float32Array(8),
};

const judgement: GroupResult = {
  judged: { group: 7, verdict: "kept", score: 0.5, reward: 0.45 },
  scores: new Map([[0, 0.9]]),
  batch,
  hasCriticValues: true,
};
const origin = { step: 3, split: "train" } as const;

describe("the records of a group", () => {
  it("have the credit of each sampled token, found in the batch", () => {
    const [first] = recordsOf(origin, group, judgement, pieces);
    expect(first?.turns.map(({ advantages, values }) => [advantages, values])).toEqual([
      [
        [0.25, -0.5],
        [1, 2],
      ],
      [[0.75], [3]],
    ]);
  });

  it("have what was sampled: ids with their texts, log-probabilities, entropies and versions", () => {
    const [first] = recordsOf(origin, group, judgement, pieces);
    expect(first?.turns[0]).toMatchObject({
      prompt_ids: [1, 2],
      ids: [10, 11],
      pieces: ["<10>", "<11>"],
      mu: [-0.1235, -0.1235],
      entropies: [0.5, 0.5],
      versions: [3, 3],
    });
    expect(first?.messages).toEqual([
      { role: "user", content: "s1" },
      { role: "assistant", content: "r1" },
      { role: "user", content: "s2" },
      { role: "assistant", content: "r2" },
    ]);
  });

  it("have the state after the last turn, in the record of the last token sequence", () => {
    const sequences = [{ turns }, { turns: [turnOf()] }];
    const records = recordsOf(
      origin,
      { ...group, episodes: [episodeOf(7, 0, { sequences, final: "s3" }), episodeOf(7, 1, { sequences })] },
      null,
      pieces,
    );
    expect(records.map((record) => ("final" in record ? record.final : "absent"))).toEqual([
      "absent",
      "s3",
      "absent",
      "absent",
    ]);
  });

  it("have the verdict, the group's score, and the episode's where it has one", () => {
    const records = recordsOf(origin, group, judgement, pieces);
    expect(records.map(({ groupScore, member, score, verdict }) => ({ groupScore, member, score, verdict }))).toEqual([
      { member: 0, verdict: "kept", groupScore: 0.5, score: 0.9 },
      { member: 1, verdict: "kept", groupScore: 0.5, score: undefined },
    ]);
  });

  it("have no credit where the group was left out, no values without a critic, and no verdict in validation", () => {
    const [left] = recordsOf(origin, group, { ...judgement, batch: null }, pieces);
    expect([left?.turns[0]?.advantages, left?.turns[0]?.values]).toEqual([undefined, undefined]);
    const [blind] = recordsOf(origin, group, { ...judgement, hasCriticValues: false }, pieces);
    expect([blind?.turns[0]?.advantages, blind?.turns[0]?.values]).toEqual([[0.25, -0.5], undefined]);
    const [validated] = recordsOf({ step: 3, split: "val" }, group, null, pieces);
    expect([validated?.verdict, validated?.groupScore, validated?.split]).toEqual([undefined, undefined, "val"]);
  });
});

describe("the records of an agent's episode", () => {
  const agentGroup = groupOfEpisodes(12, [agentEpisode()]);
  const records = recordsOf(origin, agentGroup, null, agentPieces);

  it("have the calls of the tree, the discarded ones in records of their own that play no turn", () => {
    expect(
      records.map(({ discarded, sequence, turns }) => [sequence, discarded, turns.map(({ call }) => call?.number)]),
    ).toEqual([
      [0, undefined, [1, 3, 4]],
      [1, undefined, [6]],
      [2, undefined, [5]],
      [3, true, [0]],
      [4, true, [2]],
    ]);
    const lines = records.map((record) => episodeIndexLine(record, 0, 1));
    expect(lines.map(({ turns }) => turns)).toEqual([3, 1, 1, 0, 0]);
    expect(lines.every(({ tokens }) => tokens > 0)).toBe(true);
  });

  it("end with the last trained sequence where the episode tells its last state", () => {
    const ended = groupOfEpisodes(12, [{ ...agentEpisode(), final: "over" }]);
    expect(recordsOf(origin, ended, null, agentPieces).map((record) => record.final)).toEqual([
      undefined,
      undefined,
      "over",
      undefined,
      undefined,
    ]);
  });

  it("are read back as they were written", () => {
    expect(records.map((record) => readRecord(JSON.stringify(record)))).toEqual(records);
  });
});
