/**
 * Reading a reply takes time linear in its length, whatever its text. Replies of 300 000 characters, each a fragment over and over, are read
 * within the limit of a test; a reader that is quadratic in any of them takes minutes.
 */
import { expect, it } from "vitest";
import { extractAnswer } from "../../../src/env/games/search/extractAnswer.ts";
import { hasAction } from "../../../src/env/games/webshop/Page.ts";
import { submittedCode } from "../../../src/env/sandbox/submittedCode.ts";
import { alfworld } from "../../../src/rollout/memory/alfworld.ts";
import { type Grammar, parse } from "../../../src/rollout/parse.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { anyPreset, elsewhere, presets } from "../contract/presets.ts";

const length = 300_000;

const repeated = (fragment: string): string => fragment.repeat(Math.ceil(length / fragment.length));

/** Pieces of the grammars that are read here: what opens and never closes, and what may go on for long. */
const fragments = [
  ...[
    "a",
    "a ",
    "1",
    "1 ",
    " ",
    "\n",
    ".",
    ". ",
    ",",
    "(",
    "[",
    "{",
    "$",
    "*",
    "=",
    "-",
    "a(",
    "a(a)",
    "a (",
    "1,",
    "1 , ",
    "0.",
  ],
  ...[
    "search[",
    "click[a",
    "\\boxed{",
    "**a",
    "answer is ",
    "so ",
    "<think>",
    "<answer>",
    "</think>",
    "</think> ",
    "||",
    " || ",
  ],
  ...["place 1 at ", "1 at row 1 ", "\\frac{", "\\text{", "\\left", "Term(", "Rotate(90), ", "```\n", "~~~", "\u0661"],
];

/** A long part after a beginning that a reader takes, and before an end that it does not. */
const framed: readonly (readonly [before: string, fragment: string, after: string])[] = [
  ["answer is a", ",", "a"],
  ["1 at row 1", " ", "x"],
  ["", "1", "x"],
  ["$", "1", "x"],
  ["f(", "(a)", ""],
  ["a", " ", "!"],
  ["[", "a(", "]"],
];

const replies = [...fragments.map((fragment) => ["", fragment, ""] as const), ...framed].map(
  ([before, fragment, after]) => `${before}${repeated(fragment)}${after}`,
);

it.each(Object.keys(presets).filter((tag) => !elsewhere.has(tag)))("%s reads long replies", async (tag) => {
  const environment = anyPreset(tag);
  await environment.prepare?.();
  const { signal } = new AbortController();
  const state = await environment.reset(instanceOf(1), "train", signal);
  if (environment.actions(state) !== null) return;
  for (const reply of replies) {
    const { info } = await environment.step(state, reply, noiseOf(1, 0, 0), signal);
    expect(info.success).toBe(false);
  }
});

const grammars: readonly Grammar[] = [
  { think: true, separator: "||", maxActions: 5 },
  { think: false, separator: null, maxActions: 5 },
];

it.each(grammars)("a reply that opens its answer and never closes it is read: %o", (grammar) => {
  for (const reply of replies) {
    expect(parse(`<think>${reply}`, grammar).parsed).toBe(false);
    expect(parse(`<think>${reply}</think><answer>${reply}</answer>`, grammar).parsed).toBe(true);
  }
});

it("what stands for an answer without the form is found", () => {
  for (const reply of replies) expect(extractAnswer(reply).length).toBeLessThanOrEqual(reply.length);
});

it("a shop's action is read", () => {
  const page = { text: "", hasSearchBar: true, clickables: ["a"] };
  for (const reply of replies) expect(hasAction(page, reply)).toBe(false);
});

it("code is found in an answer", () => {
  for (const reply of replies) expect(submittedCode(reply).length).toBeLessThanOrEqual(reply.length);
});

it("ALFWorld's memory retells an earlier reply", () => {
  const view = { state: null, observation: "a room", compact: "a room", actions: null, contentKey: "" };
  const moment = { view, turn: 1, actionsLeft: 5 };
  const past = { before: moment, actions: [], effective: 0, reward: 0, executed: 0, invalid: true };
  for (const reply of replies) {
    const retold = { first: "", shown: [{ ...past, reply }], summary: "", previousInvalid: false };
    const text = alfworld({ ...moment, turn: 2 }, retold, { form: "", lengthSentence: "", wholeRewards: false });
    expect(text).toContain("Action 1: '");
  }
});
