/** Messages in the bodies of servers' errors. */
import { describe, expect, it } from "vitest";
import { errorDetail, errorText, withoutKey } from "../../../src/support/http/errorText.ts";

describe("what an error body says", () => {
  it.for([
    [{ error: "out of memory" }, "out of memory"],
    [{ error: { message: "bad role", type: "invalid" } }, "bad role"],
    [{ message: "no such model" }, "no such model"],
    [{ detail: "Not Found" }, "Not Found"],
    [{ detail: [{ loc: ["body", "rank"], msg: "too high" }, { msg: "again" }] }, "body.rank: too high; : again"],
    [{ error: { type: "overloaded" } }, '{"type":"overloaded"}'],
    [{ error: null }, '{"error":null}'],
    [[1], "[1]"],
  ] as const)("of %j is %s", ([body, said]) => {
    expect(errorText(JSON.stringify(body))).toBe(said);
  });

  it("is the text of a body that is no JSON, and something of one that is empty or too long", () => {
    expect(errorText(" <html> ")).toBe("<html>");
    expect(errorText("")).toBe("an empty answer");
    expect(errorText(null)).toBe("an answer that is too long");
  });

  it("is quoted in parentheses only where it is of an error", () => {
    expect(errorDetail('{"detail":"No REPL"}')).toBe(" (No REPL)");
    expect(errorDetail("<html>")).toBe("");
  });

  it("is told in one line, without the key", () => {
    expect(withoutKey("a\n b sk-1", "sk-1")).toBe("a b [key]");
    expect(withoutKey("a", "")).toBe("a");
  });
});
