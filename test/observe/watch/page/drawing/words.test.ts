/** Drawings in words, and what changed from one to the next. */
import { describe, expect, it } from "vitest";
import { drawingOf } from "../../../../../src/observe/watch/page/drawing/read.ts";
import { changes, words } from "../../../../../src/observe/watch/page/drawing/words.ts";

const room = (text: string) => drawingOf({ env_type: "sokoban", env_config: {} }, text)!;
const before = room("######\n#PXO_#\n######");
const after = room("######\n#_P√_#\n######");

describe("a drawing", () => {
  it("names what stands where", () => {
    expect(words(before)).toBe("Sokoban: player (2, 2), box (2, 3), target (2, 4)");
    const board = drawingOf({ env_type: "game_2048", env_config: {} }, "1.\n.2")!;
    expect(words(board)).toBe("2048: 2 –; – 4");
  });

  it("differs from the one before in the cells that changed", () => {
    expect([...changes(before, after)]).toEqual([7, 8, 9]);
    expect(changes(before, before).size).toBe(0);
    expect(changes(null, after).size).toBe(0);
  });

  it("does not differ in its cells from a drawing of another shape", () => {
    expect(changes(room("#####\n#PXO#\n#####"), after).size).toBe(0);
  });
});
