/** Checks the rows of an agent's episode against the record of a policy: each holds what was sampled, behind what it was sampled behind. */
import { expect } from "vitest";
import { type CallNode, pathIds } from "../../src/agents/tree/CallTree.ts";
import { concatIds } from "../../src/domain/Batch.ts";
import { type Episode, repliesOf } from "../../src/domain/Episode.ts";
import { nameOf, type RecordedReply } from "./recordingPolicy.ts";

/** Ids of the small model's template. Nothing that a client sends may become one. */
export const markers = { pad: 0, end: 1, system: 2, user: 3, assistant: 4 } as const;
const markerIds: readonly number[] = Object.values(markers);

export const isMarker = (id: number): boolean => markerIds.includes(id);

const countOf = (ids: Int32Array, id: number): number => ids.reduce((sum, each) => sum + (each === id ? 1 : 0), 0);

/** Counts each marker that belongs into the prompt of a call, by its messages alone. */
const expectedCounts = ({ added, parent, tools }: CallNode): readonly number[] => {
  const [first] = added;
  const isHead = parent === null && first?.role === "system";
  const turns = isHead ? added.slice(1) : added;
  const count = (...roles: readonly string[]) => turns.filter(({ role }) => roles.includes(role)).length;
  const head = parent === null && ((isHead && first.text !== "") || tools.length > 0) ? 1 : 0;
  const isCut = parent !== null && parent.sampled.ids.at(-1) !== markers.end ? 1 : 0;
  const replies = count("assistant");
  return [0, replies + isCut, count("system") + head, count("user", "tool"), replies + 1];
};

/** Expects every row of an episode and every call of its tree to be exact, and removes its replies from the record. */
export const checkRows = (episode: Episode, calls: readonly CallNode[], replies: Map<number, RecordedReply>): void => {
  for (const node of calls) {
    const reply = replies.get(nameOf(node.sampled));
    expect(node.sampled.ids).toEqual(reply?.ids);
    expect(pathIds(node)).toEqual(concatIds([reply?.history ?? new Int32Array(0), node.sampled.ids]));
    expect(markerIds.map((id) => countOf(node.prompt, id))).toEqual(expectedCounts(node));
  }
  const rows = repliesOf(episode).map(({ sampled }) => nameOf(sampled));
  expect(new Set(rows).size).toBe(rows.length);
  for (const { turns } of episode.sequences) {
    let before: Int32Array = new Int32Array(0);
    for (const { prompt, sampled } of turns) {
      before = concatIds([before, prompt]);
      expect(before).toEqual(replies.get(nameOf(sampled))?.history);
      before = concatIds([before, sampled.ids]);
    }
  }
  for (const { sampled } of calls) replies.delete(nameOf(sampled));
};
