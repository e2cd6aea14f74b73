/** Replies become actions, even odd ones. */
import { describe, expect, it } from "vitest";
import { searchAction } from "../../../../src/env/games/search/SearchAction.ts";

describe("an action", () => {
  it.each([
    ["search[highest mountain]", { _tag: "Search", query: "highest mountain" }],
    ["  search[a b]\n", { _tag: "Search", query: "a b" }],
    ["search[]", { _tag: "Search", query: "" }],
    ["search[list[int]]", { _tag: "Search", query: "list[int]" }],
    ["search[two\nlines]", { _tag: "Search", query: "two\nlines" }],
    ["finish[Frostgate]", { _tag: "Finish", answer: "Frostgate" }],
    ["finish[]", { _tag: "Finish", answer: "" }],
    ["finish[ yes ]", { _tag: "Finish", answer: " yes " }],
    ["Search[x]", { _tag: "Other", text: "Search[x]" }],
    ["search [x]", { _tag: "Other", text: "search [x]" }],
    ["search[x", { _tag: "Other", text: "search[x" }],
    ["finish[x].", { _tag: "Other", text: "finish[x]." }],
    ["look[x]", { _tag: "Other", text: "look[x]" }],
    ["Frostgate", { _tag: "Other", text: "Frostgate" }],
    ["", { _tag: "Empty" }],
    [" \n ", { _tag: "Empty" }],
  ])("%j is read", (written, action) => {
    expect(searchAction(written)).toEqual(action);
  });
});
