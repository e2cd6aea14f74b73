/** The states that the page shows around each turn. */
import { describe, expect, it } from "vitest";
import type { Message } from "../../../../../src/domain/EpisodeRecord.ts";
import type { Scene } from "../../../../../src/observe/watch/Api.ts";
import { statesOf } from "../../../../../src/observe/watch/page/episodes/states.ts";
import { episodeRecord, turnRecord } from "../../../../build/records.ts";

const sokoban: Scene = { env_type: "sokoban", env_config: {} };

/** The text of each state, and a reply to it. */
const said = (...shown: readonly string[]): readonly Message[] =>
  shown.flatMap((content) => [
    { role: "user", content } as const,
    { role: "assistant", content: "<answer>Right</answer>" } as const,
  ]);
const turns = (count: number) => Array.from({ length: count }, () => turnRecord(["Right"]));

const texts = (...args: Parameters<typeof statesOf>) =>
  statesOf(...args).map((sequence) => sequence.map(({ after, before }) => [before.text, after?.text ?? null]));

describe("the state after a turn", () => {
  it("is what the next turn showed, and the record's last after the last turn", () => {
    const record = episodeRecord({ messages: said("a", "b"), turns: turns(2), final: "c" });
    expect(texts(null, [record])).toEqual([
      [
        ["a", "b"],
        ["b", "c"],
      ],
    ]);
  });

  it("is that in which the next token sequence began", () => {
    const first = episodeRecord({ messages: said("a"), turns: turns(1) });
    const second = episodeRecord({ sequence: 1, messages: said("b"), turns: turns(1), final: "c" });
    expect(texts(null, [first, second])).toEqual([[["a", "b"]], [["b", "c"]]]);
  });

  it("passes over a summary, which has no states", () => {
    const first = episodeRecord({ messages: said("a"), turns: turns(1) });
    const summary = episodeRecord({ sequence: 1, summary: true, messages: said("sum up"), turns: turns(1) });
    const second = episodeRecord({ sequence: 2, messages: said("b"), turns: turns(1), final: "c" });
    expect(texts(null, [first, summary, second])).toEqual([[["a", "b"]], [["sum up", null]], [["b", "c"]]]);
  });

  it("is unknown after the last turn of a record that does not tell it", () => {
    expect(texts(null, [episodeRecord({ messages: said("a"), turns: turns(1) })])).toEqual([[["a", null]]]);
  });

  it("is drawn as the states before it", () => {
    const record = episodeRecord({
      messages: said("#####\n#PXO#\n#####"),
      turns: turns(1),
      final: "#####\n#_P√#\n#####",
    });
    const states = statesOf(sokoban, [record])[0]?.[0];
    expect(states?.before.drawing).toMatchObject({ kind: "sokoban" });
    const drawing = states?.after?.drawing;
    expect(drawing?.kind === "sokoban" && drawing.cells.slice(5, 10)).toEqual([
      "wall",
      "floor",
      "player",
      "box on target",
      "wall",
    ]);
  });
});
