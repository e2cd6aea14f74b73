/** The files of the sets as the Hugging Face hub holds them, from rows to questions. */
import { fileURLToPath } from "node:url";
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import * as Dataset from "../../../../src/env/games/dataset/Dataset.ts";
import type { QuizQuestion } from "../../../../src/env/games/static_qa/Question.ts";
import { StaticQAConfig, sourceOf } from "../../../../src/env/games/static_qa/StaticQAConfig.ts";
import { fileOf, linesOf } from "../dataset/temporary.ts";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../dataset/fixtures/${name}.parquet`, import.meta.url));

const sourceFor = (dataset: string, path: string, keys: Readonly<Record<string, unknown>> = {}) =>
  sourceOf(Schema.decodeUnknownSync(StaticQAConfig)({ dataset, path, val_share: 0, ...keys }));

const questions = async (dataset: string, path: string, keys: Readonly<Record<string, unknown>> = {}) =>
  (await Dataset.load(sourceFor(dataset, path, keys))).train;

const golds = (all: readonly QuizQuestion[]): readonly string[] => all.map(({ gold }) => gold);

describe("gsm8k", () => {
  it("has its answer after ####", async () => {
    expect(await questions("gsm8k", fixture("gsm8k"))).toEqual([
      { text: "How many legs have two hens?", gold: "4", choices: null },
      { text: "Ten hundreds and eighty are how many?", gold: "1,080", choices: null },
    ]);
  });
});

describe("metamathqa", () => {
  it("has its answer after the last marker, and a row without one is told", async () => {
    const all = await questions("metamathqa", fixture("metamathqa"));
    expect(golds(all)).toEqual(["1", "3", "5", "7", "9", "11", "13", "15", "17", "19", "21"]);
    expect(await Dataset.report(sourceFor("metamathqa", fixture("metamathqa")))).toEqual([
      expect.stringMatching(/ 1 of 12 rows .*metamathqa\.parquet row 11: no "The answer is:" in the answer$/),
    ]);
  });

  it("keeps the variants of one question on one side", async () => {
    const source = sourceFor("metamathqa", fixture("metamathqa"), { val_share: 0.5 });
    const { train, val } = await Dataset.load(source);
    const originals = (side: readonly QuizQuestion[]) =>
      new Set(golds(side).map((gold) => Math.floor((Number(gold) - 1) / 4)));
    expect([...originals(train)].filter((original) => originals(val).has(original))).toEqual([]);
    expect(train.length + val.length).toBe(11);
  });
});

describe("mmlu", () => {
  it("lists its choices by letter and answers with one", async () => {
    expect((await questions("mmlu", fixture("mmlu")))[1]).toEqual({
      text: "Which is a number?\nA. one\nB. on\nC. won\nD. own",
      gold: "A",
      choices: ["one", "on", "won", "own"],
    });
  });

  it("takes an index, a letter or the words, and refuses what is none of its choices", async () => {
    const row = (answer: unknown) => ({ question: "?", choices: ["x", "y", "z"], answer });
    const path = fileOf("a.jsonl", linesOf([1, "2", "C", "y", 3, -1, 0.5, "w"].map(row)));
    expect(golds(await questions("mmlu", path))).toEqual(["B", "C", "C", "B"]);
    const [report] = await Dataset.report(sourceFor("mmlu", path));
    expect(report).toContain("4 of 8 rows");
    expect(report).toContain(":5: the answer 3 is none of its choices");
  });

  it("needs two choices", async () => {
    const path = fileOf("a.jsonl", linesOf([{ question: "?", choices: ["x"], answer: 0 }]));
    await expect(questions("mmlu", path)).rejects.toThrow("expected 2 to 26 choices, got 1");
  });
});

describe("theoremqa", () => {
  it("leaves out what asks about a picture", async () => {
    expect(golds(await questions("theoremqa", fixture("theoremqa")))).toEqual(["0.333", "[1, 2]"]);
    expect((await Dataset.report(sourceFor("theoremqa", fixture("theoremqa"))))[0]).toContain(
      "row 0: asks about a picture",
    );
  });

  it("takes the answers of its JSON file, which are values", async () => {
    const answers = [true, 3, [1, 2.5], "(a)", "0.25"];
    const rows = answers.map((Answer, n) => ({ Question: `${n}?`, Answer, Picture: n === 0 ? "NONE" : null }));
    const path = fileOf("a.json", JSON.stringify(rows));
    expect(golds(await questions("theoremqa", path))).toEqual(["True", "3", "[1, 2.5]", "(a)", "0.25"]);
  });
});

describe("any file with questions and answers", () => {
  it("is read by the columns it names", async () => {
    const path = fileOf(
      "a.jsonl",
      linesOf([
        { q: "2 + 2?", a: 4 },
        { q: "", a: 1 },
        { q: "?", a: " " },
      ]),
    );
    const keys = { question_key: "q", answer_key: "a" };
    expect(await questions("plain", path, keys)).toEqual([{ text: "2 + 2?", gold: "4", choices: null }]);
    expect((await Dataset.report(sourceFor("plain", path, keys)))[0]).toMatch(
      /:2: question: "": expected a text that is not empty; .*:3: the answer is empty$/,
    );
  });

  it("has to be named", () => {
    expect(() => Schema.decodeUnknownSync(StaticQAConfig)({ dataset: "plain" })).toThrow("needs a file of its own");
  });
});
