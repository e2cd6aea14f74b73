/** Episodes of agents as episodes of an evaluation. */
import { describe, expect, it } from "vitest";
import { agentEpisodesOf } from "../../../src/tools/evaluation/chats.ts";
import { isNotPlayed } from "../../../src/tools/evaluation/NotPlayed.ts";
import { agentEpisode } from "../../build/agentEpisodes.ts";
import { episodeOf } from "../../build/episodes.ts";
import { groupOfEpisodes } from "../../build/groups.ts";

describe("an agent's episode in an evaluation", () => {
  it("has a reply for each call that is trained, with its place in the tree", () => {
    const [episode] = agentEpisodesOf(groupOfEpisodes(12, [agentEpisode()]));
    if (episode === undefined || isNotPlayed(episode)) throw new Error("it was played");
    const { contentKey, messages, outcome, turns } = episode;
    expect([contentKey, outcome]).toEqual(["Agent 10012", { _tag: "Done", success: true }]);
    expect(messages.filter(({ role }) => role === "assistant").length).toBe(turns.length);
    expect(turns.map(({ call, sequence }) => [call?.number, sequence])).toEqual([
      [1, 0],
      [3, 0],
      [4, 0],
      [6, 1],
      [5, 2],
    ]);
  });

  it("is not played where it failed, for its own reason", () => {
    const outcome = { _tag: "Failed", reason: "agent_error", message: "it broke" } as const;
    const [episode] = agentEpisodesOf(groupOfEpisodes(3, [episodeOf(3, 0, { outcome })]));
    expect(episode).toMatchObject({ _tag: "NotPlayed", reason: "agent_error", message: "it broke", seed: 3 });
  });
});
