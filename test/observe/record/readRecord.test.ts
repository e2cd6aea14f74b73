/** Lines of trajectories.jsonl: what is read of them, whichever version wrote them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRecord } from "../../../src/observe/record/readRecord.ts";
import { EpisodesIndex } from "../../../src/observe/watch/store/EpisodesIndex.ts";
import { agentCall } from "../../build/agentCalls.ts";
import { episodeRecord, turnRecord } from "../../build/records.ts";
import { assertProperty } from "../../property.ts";

/** Number of episodes that an index takes from a line. */
const indexed = (line: string): number => {
  const index = new EpisodesIndex();
  index.addRecord(Buffer.from(line), 0);
  const query = { from: 0, to: 9, split: null, tag: null, success: null, verdict: null, offset: 0, limit: 9 };
  return index.page(query).total;
};

describe("a line of trajectories.jsonl", () => {
  it("is read as it was written, whatever call it has", () => {
    assertProperty(
      fc.property(agentCall, (call) => {
        const record = episodeRecord({ turns: [turnRecord(["a"], { call, mu: [-1] })] });
        expect(readRecord(JSON.stringify(record))).toEqual(record);
      }),
    );
  });

  it("opens where a version before the calls of agents wrote it", () => {
    const line = JSON.stringify({ ...episodeRecord(), schema: 3 });
    expect(readRecord(line)?.turns[0]?.call).toBeUndefined();
    expect([indexed(line), indexed(JSON.stringify(episodeRecord()))]).toEqual([1, 1]);
    expect(indexed(JSON.stringify({ ...episodeRecord(), schema: 2 }))).toBe(0);
  });

  it.each([
    ["parent is no number", { parent: "1" }],
    ["reason is unknown", { fork: "boredom" }],
    ["message has no text", { added: [{ role: "user" }] }],
    ["tool call has no name", { calls: [{ id: "1", arguments: {} }] }],
  ])("is not read where a call's %s", (_, damage) => {
    const call = { number: 0, parent: null, fork: null, added: [], calls: [], problems: [] };
    const line = (value: object) =>
      JSON.stringify({ ...episodeRecord(), turns: [{ ...turnRecord(["a"]), call: value }] });
    expect(readRecord(line(call))).not.toBeNull();
    expect(readRecord(line({ ...call, ...damage }))).toBeNull();
  });
});
