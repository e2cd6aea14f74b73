/** Rows of data files as theorems, and theorems with tactics as scripts. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { scriptOf, sourceOf, theoremOf } from "../../../../src/env/games/lean/Theorem.ts";
import { configWith } from "./config.ts";

const theorem = (formal: string, more: Readonly<Record<string, unknown>> = {}) =>
  Result.getOrThrow(theoremOf({ formal, ...more }));

describe("a statement", () => {
  it("is told apart from its imports and what stands between", () => {
    expect(theorem("import Mathlib\n\nopen Nat\nset_option x true\n\ntheorem a :\n    True := by\n")).toMatchObject({
      imports: "import Mathlib",
      preamble: "open Nat\nset_option x true",
      statement: "theorem a :\n    True := by",
    });
  });

  it("keeps what follows its first line, imports of words included", () => {
    expect(theorem("lemma a : True := by\n\n  important\n  theorem_search").statement).toBe(
      "lemma a : True := by\n\n  important\n  theorem_search",
    );
  });

  it.each([
    ["theorem a : True := by sorry", "theorem a : True := by"],
    ["theorem a : True := by\n  sorry", "theorem a : True := by"],
    ["theorem a : True := sorry", "theorem a : True := by"],
    ["theorem a : True :=", "theorem a : True := by"],
    ["theorem a : True", "theorem a : True := by"],
    ["theorem a : True := by\n  intro h", "theorem a : True := by\n  intro h"],
  ])("%j is opened for tactics", (formal, statement) => {
    expect(theorem(formal).statement).toBe(statement);
  });

  it("takes imports and openings from a header of its own column", () => {
    expect(theorem("theorem a : True := by", { header: "import Mathlib\nopen Real\n" })).toMatchObject({
      imports: "import Mathlib",
      preamble: "open Real",
    });
  });

  it.each([
    [{ name: "given", id: 3 }, "given"],
    [{ id: 3 }, "3"],
    [{ name: " " }, "a"],
    [{}, "a"],
  ])("is named by %j as %s", (more, name) => {
    expect(theorem("theorem a : True := by", more).name).toBe(name);
  });

  it("without a declaration cannot be used", () => {
    expect(Result.isFailure(theoremOf({ formal: "#check Nat" }))).toBe(true);
  });
});

describe("the columns", () => {
  it("are minif2f's unless the configuration says otherwise", () => {
    expect(sourceOf(configWith()).columns).toMatchObject({
      formal: { name: "formal_statement", required: true },
      informal: { name: "natural_language_statement", required: false },
    });
    expect(sourceOf(configWith({ columns: { informal: "informal_stmt" } })).columns.informal!.name).toBe(
      "informal_stmt",
    );
  });
});

describe("a script", () => {
  const bare = theorem("theorem a : True := by");

  it("begins with the default imports where the row has none", () => {
    expect(scriptOf(configWith(), bare, ["trivial"])).toEqual([
      "import Mathlib",
      "import Aesop",
      "set_option maxHeartbeats 0",
      "open BigOperators Real Nat Topology Rat",
      "",
      "theorem a : True := by",
      "  trivial",
    ]);
    expect(scriptOf(configWith({ default_imports: "" }), bare, [])).toEqual(["theorem a : True := by"]);
  });

  it("indents every line of a tactic, so that it stays in the proof", () => {
    const tactic = "have h : True := by\n  trivial\n\nexact h";
    expect(scriptOf(configWith({ default_imports: "" }), bare, [tactic]).slice(1)).toEqual([
      "  have h : True := by",
      "    trivial",
      "",
      "  exact h",
    ]);
  });
});
