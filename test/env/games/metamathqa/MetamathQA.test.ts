/** MetamathQA: the reward of each try, what is shown after it, whose instance a seed stands for, and answers as a reply carries them. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as Dataset from "../../../../src/env/games/dataset/Dataset.ts";
import { MetamathQA } from "../../../../src/env/games/metamathqa/MetamathQA.ts";
import { MetamathQAConfig, sourceOf } from "../../../../src/env/games/metamathqa/MetamathQAConfig.ts";
import type { QuizState } from "../../../../src/env/games/static_qa/Quiz.ts";
import { mapActions } from "../../../../src/rollout/actions.ts";
import { parse } from "../../../../src/rollout/parse.ts";
import { configsOf } from "../../../build/config.ts";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { fileOf, linesOf } from "../dataset/temporary.ts";

const configWith = configsOf(MetamathQAConfig);
const config = configWith();

const stateWith = (gold: string): QuizState => ({
  question: { text: "What is x?", gold, choices: null },
  wrong: 0,
  solved: false,
});

const answer = (state: QuizState, text: string, keys: MetamathQAConfig = config) =>
  MetamathQA.step(keys, state, text, noiseOf(0, 0, 0));

describe("an answer", () => {
  it.each([0, 1, 2, 3, 10])("that is right after %i wrong ones is worth half as much for each", (wrong) => {
    let state = stateWith("18");
    for (let n = 0; n < wrong; n++) {
      const transition = answer(state, `${n}`);
      expect([transition.reward, transition.terminated, transition.truncated]).toEqual([0, false, false]);
      expect(transition.info).toMatchObject({ success: false, action_is_effective: false, action_is_valid: true });
      state = transition.state;
    }
    const { info, reward, terminated } = answer(state, " 18 ");
    expect([reward, terminated]).toEqual([1 / 2 ** wrong, true]);
    expect(info).toEqual({ success: true, action_is_effective: true, action_is_valid: true, first_try: wrong === 0 });
  });

  it("that is empty is invalid and no try", () => {
    const state = stateWith("18");
    const transition = answer(state, " \n");
    expect(transition.state).toEqual(state);
    expect(transition.info.action_is_valid).toBe(false);
    expect(answer(transition.state, "18").reward).toBe(1);
  });

  it("is compared as text, and as a number where that is asked for", () => {
    expect(answer(stateWith("1080"), "1,080").reward).toBe(0);
    expect(answer(stateWith("1080"), "1,080", configWith({ match: "number" })).reward).toBe(1);
  });
});

describe("the observation", () => {
  it("is the question, then the verdict", () => {
    const state = stateWith("18");
    const wrong = answer(state, "19").state;
    const right = answer(wrong, "18").state;
    expect([state, wrong, right].map((shown) => MetamathQA.render(config, shown))).toEqual([
      "What is x?",
      "Incorrect. Please think again.",
      "Correct!",
    ]);
  });
});

describe("the instances", () => {
  const fixture = fileURLToPath(new URL("../dataset/fixtures/metamathqa.parquet", import.meta.url));

  it("come from MetaMathQA's own file as it is", async () => {
    const fileConfig = configWith({ path: fixture, val_share: 0 });
    await MetamathQA.prepare!(fileConfig);
    const { question } = MetamathQA.reset(fileConfig, instanceOf(1), "train");
    const n = Number(/^What is (\d+) plus/.exec(question.text)![1]);
    expect(question.gold).toBe(String(2 * n + 1));
    expect((await MetamathQA.report!(fileConfig))[0]).toContain("1 of 12 rows");
  });

  it("come from columns of other names where they are named", async () => {
    const path = fileOf("a.jsonl", linesOf([{ q: "1 + 1?", r: "The answer is: 2" }]));
    const fileConfig = configWith({ path, val_share: 0, question_key: "q", answer_key: "r", split_key: "" });
    await MetamathQA.prepare!(fileConfig);
    expect(MetamathQA.reset(fileConfig, instanceOf(1), "val").question).toMatchObject({ text: "1 + 1?", gold: "2" });
  });

  it("keep all variants of an original question on one side of the split", async () => {
    const { train, val } = await Dataset.load(sourceOf(config));
    expect([train.length % 4, val.length % 4]).toEqual([0, 0]);
    expect(train.length + val.length).toBe(480);
  });

  it("are RAGEN's of a seed where that is asked for", async () => {
    const ragen = configWith({ instances: "ragen", val_share: 0 });
    await MetamathQA.prepare!(ragen);
    const rows = Dataset.loadedRows(sourceOf(ragen)).train;
    // python3 -c "import random; random.seed(10000); print(random.randint(0, 479))", likewise 10001 and 123
    for (const [seed, index] of [
      [10000, 295],
      [10001, 182],
      [123, 26],
    ] as const) {
      expect(MetamathQA.reset(ragen, instanceOf(seed), "train").question).toEqual(rows[index]);
    }
    expect(() => configWith({ instances: "ragen" })).toThrow("needs val_share 0");
  });

  it("are the stand-in's by default, which is said", async () => {
    expect(await MetamathQA.report!(config)).toEqual([
      "config/data/questions/rephrased_problems.jsonl stands in for MetaMathQA: set path to its file to play the set itself",
    ]);
  });
});

describe("an answer in a reply", () => {
  it.each(["x = 1, y = 2", "\\frac{1}{2} + \\sqrt{3}", "||v|| = 5", "a || b", "(-\\infty, 3]"])(
    "reaches the environment as it is written: %j",
    (gold) => {
      const grammar = { think: true, separator: MetamathQA.wholeAnswer === true ? null : "||", maxActions: 2 };
      const { actions } = parse(`<think>so</think> <answer> ${gold} </answer>`, grammar);
      const {
        invalid,
        penalised,
        executable: run,
      } = mapActions(actions, MetamathQA.actions(config, stateWith(gold)), 1);
      expect([invalid, penalised, run.length]).toEqual([false, false, 1]);
      expect(answer(stateWith(gold), run[0]!).reward).toBe(1);
    },
  );
});
