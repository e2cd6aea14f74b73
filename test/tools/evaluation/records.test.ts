/** Episodes of endpoints as records: what the page shows of them, and that who reads them finds them. */
import { describe, expect, it } from "vitest";
import { episodeIndexLine } from "../../../src/observe/record/Trajectories.ts";
import { recordsOf } from "../../../src/tools/evaluation/records.ts";
import { episode, turn } from "./made.ts";

const request = { role: "user", content: "Sum up." } as const;

describe("the records of an endpoint's episode", () => {
  it("have states, replies and counts, and no tokens", () => {
    const [record] = recordsOf(episode());
    expect(record).toMatchObject({ schema: 4, step: 0, split: "val", sequence: 0, success: true, final: "the end" });
    expect(record?.messages.map(({ content }) => content)).toEqual([
      "a state",
      "<answer>Up</answer>",
      "a state",
      "<answer>Up</answer>",
    ]);
    const [first] = record?.turns ?? [];
    expect(first).toMatchObject({ ids: [], pieces: [], mu: [], counted: { prompt: 30, reply: 6 } });
  });

  it("have what was sent: all of it in the first turn of a chat, then what is new", () => {
    const [record] = recordsOf(episode());
    expect(record?.turns.map(({ prompt }) => prompt?.map(({ content }) => content))).toEqual([
      ["Rules.", "State 1."],
      ["Reward:\n-0.1\nState 2."],
    ]);
  });

  it("are one for each chat, summaries among them", () => {
    const shown = [
      { role: "system", content: "Rules." } as const,
      { role: "user", content: "So far.\nState 2." } as const,
    ];
    const replied = { finish: "stop", promptTokens: 9, tokens: null, entropy: null } as const;
    const records = recordsOf(
      episode({
        turns: [turn(), turn({ sequence: 2, shown })],
        summaries: [{ asked: request.content, text: "So far.", sequence: 1, ...replied }],
      }),
    );
    expect(records.map(({ sequence, summary }) => [sequence, summary])).toEqual([
      [0, undefined],
      [1, true],
      [2, undefined],
    ]);
    expect(records[1]?.turns[0]?.prompt).toEqual([{ role: "system", content: "Rules." }, request]);
    expect(records[2]?.turns[0]?.prompt).toEqual(shown);
    expect(records.map(({ final }) => final)).toEqual([undefined, undefined, "the end"]);
    expect(records.map((record) => episodeIndexLine(record, 0, 1)).map(({ tokens, turns }) => [turns, tokens])).toEqual(
      [
        [1, 6],
        [0, 0],
        [1, 6],
      ],
    );
  });

  it("show the message of a turn whose state was not recorded", () => {
    const [record] = recordsOf(episode({ turns: [turn({ state: "" })] }));
    expect(record?.messages[0]?.content).toBe("State 1.");
  });

  it("are one without turns where none was played", () => {
    const truncated = { _tag: "Truncated", reason: "context", success: false } as const;
    const records = recordsOf(episode({ turns: [], outcome: truncated, messages: [request] }));
    expect(records).toMatchObject([{ turns: [], messages: [], outcome: truncated }]);
  });
});
