/** The questions that come with the package: what the generator makes is what is there, and every one can be asked and answered. */
import { readFileSync } from "node:fs";
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { stream } from "../../../../src/domain/Random.ts";
import * as Dataset from "../../../../src/env/games/dataset/Dataset.ts";
import { isRightAnswer } from "../../../../src/env/games/static_qa/answerMatching.ts";
import { compactText } from "../../../../src/env/games/static_qa/compactText.ts";
import { type LayoutName, layoutNames, layouts } from "../../../../src/env/games/static_qa/layouts.ts";
import { StaticQAConfig, sourceOf, standIns } from "../../../../src/env/games/static_qa/StaticQAConfig.ts";
import { files, jsonLines, rephrasedProblems, templates, wordProblems } from "../../../generators/wordProblems.ts";

const textOf = (name: string): string =>
  readFileSync(new URL(`../../../../config/data/questions/${name}`, import.meta.url), "utf8");

const bundled = layoutNames.filter((name) => standIns[name] !== null);

const questions = async (dataset: LayoutName) => {
  const source = sourceOf(Schema.decodeUnknownSync(StaticQAConfig)({ dataset, val_share: 0 }));
  const { skipped, train } = await Dataset.load(source);
  expect(skipped.every(({ count }) => count === 0)).toBe(true);
  return train;
};

describe("the word problems", () => {
  it("are what the generator writes", () => {
    for (const [name, rows] of Object.entries(files())) expect(textOf(name)).toBe(jsonLines(rows));
  });

  it("never read alike", () => {
    expect(new Set(wordProblems(1, 400).map(({ question }) => question)).size).toBe(400);
    expect(new Set(rephrasedProblems(2, 120).map(({ query }) => query)).size).toBe(480);
  });

  it("have the answer to which their last line leads", () => {
    for (const { answer } of wordProblems(3, 200)) {
      const [gold] = answer.split("#### ").slice(-1);
      const last = answer.split("\n").at(-2)!;
      if (!last.includes("=")) continue;
      expect(last.split(" = ").at(-1)).toBe(gold);
      const [, a, operator, b] = /^(-?[\d.]+) ([-+*/]) (-?[\d.]+) =/.exec(last)!;
      const by = {
        "+": Number(a) + Number(b),
        "-": Number(a) - Number(b),
        "*": Number(a) * Number(b),
        "/": Number(a) / Number(b),
      };
      expect(by[operator as keyof typeof by]).toBe(Number(gold));
    }
  });

  it("have one answer when they are asked backwards", () => {
    for (const [at, template] of templates.entries()) {
      const values = template.draw(stream({ seed: at, purpose: "play", counters: [] }));
      for (const unknown of template.unknowns) {
        const others = Array.from({ length: 40 }, (_, n) => Number(values[unknown]) + n - 20);
        const same = others.filter(
          (value) => template.answer({ ...values, [unknown]: value }) === template.answer(values),
        );
        expect([at, unknown, same]).toEqual([at, unknown, [values[unknown]]]);
      }
    }
  });
});

describe.each(bundled)("the stand-in of %s", (name) => {
  it("has only questions that its own answer is right to", async () => {
    for (const question of await questions(name)) {
      expect(isRightAnswer({ match: "text", tolerance: 0 }, question, question.gold)).toBe(true);
    }
  });

  it("is short enough to be shown whole to a small model", async () => {
    for (const { text } of await questions(name)) {
      expect(compactText(text)).toBe(text.replace(/\s+/g, " "));
      expect(compactText(text)).toMatch(/^[\x20-\x7e]+$/);
    }
  });

  it("has both sides of the default split", async () => {
    const { train, val } = await Dataset.load(sourceOf(Schema.decodeUnknownSync(StaticQAConfig)({ dataset: name })));
    expect(val.length).toBeGreaterThan(1);
    expect(train.length).toBeGreaterThan(4 * val.length);
  });
});

describe("the general questions", () => {
  it("have their right answer in each place equally often", async () => {
    const golds = (await questions("mmlu")).map(({ gold }) => gold).sort();
    expect(new Set(["A", "B", "C", "D"].map((letter) => golds.filter((gold) => gold === letter).length)).size).toBe(1);
  });

  it("are dozens, and the word problems hundreds", async () => {
    const counts = await Promise.all(bundled.map(async (name) => [name, (await questions(name)).length]));
    expect(Object.fromEntries(counts)).toEqual({ gsm8k: 400, metamathqa: 480, theoremqa: 42, mmlu: 64 });
    expect(layouts.plain.columns.question).toBe("question");
  });
});

describe("a long question", () => {
  it("loses its middle for a small model", () => {
    const words = Array.from({ length: 80 }, (_, n) => `w${n}`);
    const shown = compactText(words.join("  ")).split(" ");
    expect(shown).toHaveLength(45);
    expect([shown[0], shown[22], shown.at(-1)]).toEqual(["w0", "...", "w79"]);
  });

  it("is spelled in plain ASCII", () => {
    expect(compactText("naïve “π ≤ 4” – √2\u00d73 中")).toBe('naive "pi <= 4" - sqrt2*3 ?');
  });
});
