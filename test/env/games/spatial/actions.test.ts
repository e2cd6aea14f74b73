/** The grammar of a sequence of actions. */
import { describe, expect, it } from "vitest";
import { parseSequence, sequenceText } from "../../../../src/env/games/spatial/actions.ts";

const observe = { _tag: "Observe" } as const;

describe("a sequence", () => {
  it.each([
    ["Actions: [Observe()]", { movements: [], end: observe }],
    ["Observe()", { movements: [], end: observe }],
    [
      "Actions: [JumpTo(sofa), Rotate(-90), Observe()]",
      {
        movements: [
          { _tag: "JumpTo", name: "sofa" },
          { _tag: "Rotate", degrees: -90 },
        ],
        end: observe,
      },
    ],
    ["move(sofa), OBSERVE()", { movements: [{ _tag: "JumpTo", name: "sofa" }], end: observe }],
    ["MoveTo(Big_Desk) Observe()", { movements: [{ _tag: "JumpTo", name: "big desk" }], end: observe }],
    ["[Return(), Observe()]", { movements: [{ _tag: "Return" }], end: observe }],
    ["Actions: [Term(B)]", { movements: [], end: { _tag: "Term", answer: "B" } }],
    ["Term((A))", { movements: [], end: { _tag: "Term", answer: "(A)" } }],
    ["Actions: [Return(), Term(c)]", { movements: [{ _tag: "Return" }], end: { _tag: "Term", answer: "c" } }],
    [
      "I look (again): Actions: [Rotate(45), Observe()]",
      { movements: [{ _tag: "Rotate", degrees: 45 }], end: observe },
    ],
  ])("is read from %j", (action, sequence) => {
    expect(parseSequence(action)).toEqual(sequence);
  });

  it.each([
    "",
    "hello",
    "[]",
    "Actions: [JumpTo(sofa)]",
    "Actions: [Rotate(90)]",
    "Actions: [Observe(), Rotate(90), Observe()]",
    "Actions: [Observe(), Observe()]",
    "Actions: [JumpTo(sofa), Term(A)]",
    "Actions: [Observe(), Term(A)]",
    "Actions: [Term()]",
    "Actions: [Rotate(left), Observe()]",
    "Actions: [Rotate(90.5), Observe()]",
    "Actions: [JumpTo(), Observe()]",
    "Actions: [Query(sofa)]",
    "Actions: [Dance(), Observe()]",
    "Actions: [Observe(now)]",
  ])("is not read from %j", (action) => {
    expect(parseSequence(action)).toBeNull();
  });

  it("is read back from its text", () => {
    const text = "Actions: [Return(), JumpTo(sofa), Rotate(-90), Observe()]";
    expect(sequenceText(parseSequence(text)!)).toBe(text);
    expect(sequenceText(parseSequence("term(B)")!)).toBe("Actions: [Term(B)]");
  });
});
