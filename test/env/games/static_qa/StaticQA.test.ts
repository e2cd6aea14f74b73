/** The static sets by their presets: what is played, what is asked and what the user is told. */
import { describe, expect, it } from "vitest";
import { StaticQA } from "../../../../src/env/games/static_qa/StaticQA.ts";
import { StaticQAConfig } from "../../../../src/env/games/static_qa/StaticQAConfig.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";

const configWith = configsOf(StaticQAConfig);

const play = async (keys: Readonly<Record<string, unknown>>, split: "train" | "val" = "train") => {
  const config = configWith(keys);
  await StaticQA.prepare!(config);
  return (seed: number) => StaticQA.reset(config, instanceOf(seed), split);
};

describe("a static set", () => {
  it.each(["gsm8k", "metamathqa", "theoremqa", "mmlu"])("is played without a file of its own: %s", async (dataset) => {
    const reset = await play({ dataset });
    const { question } = reset(1);
    expect(question.text).not.toBe("");
    expect(question.choices === null).toBe(dataset !== "mmlu");
    expect(await StaticQA.lacks!(configWith({ dataset }))).toEqual([]);
  });

  it("says that a stand-in is played, and nothing of a whole file", async () => {
    expect(await StaticQA.report!(configWith({ dataset: "mmlu" }))).toEqual([
      "config/data/questions/general_knowledge.jsonl stands in for mmlu: set path to play the set itself",
    ]);
    const path = "config/data/questions/word_problems.jsonl";
    expect(await StaticQA.report!(configWith({ path }))).toEqual([]);
  });

  it("asks other questions in validation than in training", async () => {
    const texts = async (split: "train" | "val") => {
      const reset = await play({ dataset: "gsm8k" }, split);
      return new Set(Array.from({ length: 300 }, (_, seed) => reset(seed).question.text));
    };
    const [train, val] = [await texts("train"), await texts("val")];
    expect([...val].filter((text) => train.has(text))).toEqual([]);
    expect(train.size).toBeGreaterThan(150);
  });

  it("takes a choice by its words", async () => {
    const config = configWith({ dataset: "mmlu" });
    const state = (await play({ dataset: "mmlu" }))(3);
    const words = state.question.choices!["ABCD".indexOf(state.question.gold)]!;
    expect(StaticQA.step(config, state, words, noiseOf(3, 0, 0)).reward).toBe(1);
  });
});
