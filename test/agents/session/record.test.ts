import { describe, expect, it } from "vitest";
import { episodeOf } from "../../../src/agents/session/record.ts";
import { type Episode, repliesOf, rewardOf, type Turn } from "../../../src/domain/Episode.ts";
import { agentEpisode, agentPieces, ScriptedTree, user } from "../../build/agentEpisodes.ts";

const all = (episode: Episode): readonly Turn[] =>
  [...repliesOf(episode), ...(episode.discarded ?? [])].toSorted(
    (a, b) => (a.call?.number ?? 0) - (b.call?.number ?? 0),
  );

describe("the record of an agent's calls", () => {
  const episode = agentEpisode();

  it("has each call once, with its parent, and the reason where it begins anew", () => {
    expect(all(episode).map(({ call }) => [call?.number, call?.parent, call?.fork])).toEqual([
      [0, null, null],
      [1, null, null],
      [2, null, null],
      [3, 1, null],
      [4, 3, null],
      [5, 1, null],
      [6, null, "compaction"],
    ]);
  });

  it("has the messages that a call added, the tools of a root, and the tool calls of the reply", () => {
    const [, first, , sum] = all(episode).map(({ call }) => call);
    expect(first).toMatchObject({ tools: ["search", "add"], added: [{ role: "system" }, { role: "user" }] });
    expect(first?.calls.map(({ arguments: values, name }) => [name, values])).toEqual([
      ["search", { query: "distance of the moon", limit: 3 }],
      ["search", { query: "kilometres in a mile" }],
    ]);
    expect(sum?.tools).toBeUndefined();
    expect(sum?.added.map((message) => (message.role === "tool" ? message.call : message.role))).toEqual([
      "1.0",
      "1.1",
      "user",
    ]);
  });

  it("keeps apart the calls that are not trained, behind the ids that only they added", () => {
    expect(episode.discarded?.map(({ call }) => call?.number)).toEqual([0, 2]);
    expect(episode.sequences.map(({ turns }) => turns.map(({ call }) => call?.number))).toEqual([[1, 3, 4], [6], [5]]);
    const [unread] = episode.discarded?.slice(1) ?? [];
    expect([unread?.parsed, unread?.call?.problems]).toEqual([false, ['the call "search(moon" is not closed']]);
    expect(agentPieces(unread?.prompt ?? []).join("")).toBe("How far is the moon, in miles and kilometres?");
    expect(rewardOf(episode)).toBe(1);
  });

  it("gives the reward of the whole, and those of calls that are left out, to the last call", () => {
    const script = new ScriptedTree();
    for (const text of ["a", "b"]) script.answer([user("x")], { text });
    script.answer([user("x"), { role: "assistant", text: "b", calls: [] }, user("y")], { text: "c" });
    const tree = { id: { group: 0, member: 0 }, tag: "Agent", seed: 0, roots: script.tree.roots, limit: null };
    const rewards = { whole: 8, calls: new Map([4, 2, 1].entries()) };
    const result = { rewards, success: true, metrics: {} };
    const turns = all(episodeOf(tree, { textOf: () => "" }, result));
    expect(turns.map(({ reward }) => reward)).toEqual([0, 2, 13]);
  });

  it("has none left out where every call is trained", () => {
    const script = new ScriptedTree();
    script.answer([user("x")], { text: "a" });
    const tree = { id: { group: 0, member: 0 }, tag: "Agent", seed: 0, roots: script.tree.roots, limit: null };
    const lone = episodeOf(
      tree,
      { textOf: () => "a" },
      { rewards: { whole: 0, calls: new Map() }, success: false, metrics: {} },
    );
    expect("discarded" in lone).toBe(false);
  });
});
