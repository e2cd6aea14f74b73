/** Every form in which a placement may be written, and texts that are none. */
import { describe, expect, it } from "vitest";
import { placementText, readPlacement } from "../../../../src/env/games/sudoku/placement.ts";

const placement = { row: 2, column: 3, number: 5 };

describe("a placement", () => {
  it.each([
    "place 5 at row 2 col 3",
    "place 5 at (2,3)",
    "place 5 at 2,3",
    "5 at 2,3",
    "(2,3,5)",
    "2,3,5",
    "Place 5 AT Row 2 Column 3",
    "place 5 at row 2, col 3",
    "  place   5   at ( 2 , 3 ) ",
    "5 at (2,3)",
    "5 at row 2 col 3",
    "( 2 , 3 , 5 )",
    "I will place 5 at row 2 col 3 because it is free.",
    "the answer is 2, 3, 5.",
  ])("is read from %j", (action) => {
    expect(readPlacement(action)).toEqual(placement);
  });

  it("names its number first after the word place or at, also in a triple", () => {
    expect(readPlacement("place 5,2,3")).toEqual(placement);
    expect(readPlacement("place (5, 2, 3)")).toEqual(placement);
    expect(readPlacement("at 5,2,3")).toEqual(placement);
  });

  it("does not mistake other words for at", () => {
    expect(readPlacement("what about that: 2,3,5")).toEqual(placement);
  });

  it("is the first of several", () => {
    expect(readPlacement("place 5 at 2,3 and place 6 at 1,1")).toEqual(placement);
  });

  it("may have numbers of two digits", () => {
    expect(readPlacement("place 16 at row 10 col 12")).toEqual({ row: 10, column: 12, number: 16 });
  });

  it.each([
    "",
    "hello",
    "place 5",
    "place five at row two col three",
    "2,3",
    "-2,3,5",
    "place -5 at 2,3",
    "row 2 col 3 is 5",
  ])("is not read from %j", (action) => {
    expect(readPlacement(action)).toBeNull();
  });

  it("is read back from its text", () => {
    expect(readPlacement(placementText(placement))).toEqual(placement);
  });
});
