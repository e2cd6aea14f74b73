/** Questions as data files hold them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as Dataset from "../../../../src/env/games/dataset/Dataset.ts";
import { questionSource } from "../../../../src/env/games/search/questions.ts";
import { configWith } from "./config.ts";

const reading = async (lines: readonly object[], keys: Readonly<Record<string, unknown>> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-questions-"));
  const path = join(folder, "questions.jsonl");
  try {
    writeFileSync(path, lines.map((line) => JSON.stringify(line)).join("\n"));
    const { train } = await Dataset.load(questionSource(configWith({ path, ...keys })));
    return train;
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe("a question", () => {
  it("has one answer or several", async () => {
    const rows = await reading([
      { question: "a?", ground_truth: "x", data_source: "hotpotqa" },
      { question: "b?", ground_truth: ["y", " z "] },
      { question: "c?", ground_truth: 1887 },
    ]);
    expect(rows).toEqual([
      { question: "a?", answers: ["x"] },
      { question: "b?", answers: ["y", "z"] },
      { question: "c?", answers: ["1887"] },
    ]);
  });

  it("may stand in columns of other names", async () => {
    const rows = await reading([{ q: "a?", answer: "x" }], { question_key: "q", answer_key: "answer" });
    expect(rows).toEqual([{ question: "a?", answers: ["x"] }]);
  });

  it("without an answer is left out", async () => {
    const rows = await reading([
      { question: "a?", ground_truth: [] },
      { question: "b?", ground_truth: " " },
      { question: "", ground_truth: "x" },
      { question: "d?", ground_truth: "x" },
    ]);
    expect(rows.map(({ question }) => question)).toEqual(["d?"]);
  });

  it("is one of the first so many", async () => {
    const lines = Array.from({ length: 9 }, (_, index) => ({ question: `${index}?`, ground_truth: "x" }));
    expect((await reading(lines, { max_instances: 4 })).length).toBe(4);
  });
});
