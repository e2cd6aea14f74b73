import { Result } from "effect";
import { expect, it } from "vitest";
import { type Rewards, readOutcome } from "../../../src/agents/host/outcome.ts";

const reported: Rewards = { whole: 0.5, calls: new Map([[1, 2]]) };

it.each<[string, unknown, Rewards | null, unknown]>([
  ["a reward", { reward: 1 }, null, { rewards: { whole: 1, calls: new Map() }, success: true, metrics: {} }],
  ["a reward of 0", { reward: 0 }, null, { rewards: { whole: 0, calls: new Map() }, success: false, metrics: {} }],
  [
    "turns",
    { turns: [0, -1] },
    null,
    {
      rewards: {
        whole: 0,
        calls: new Map([
          [0, 0],
          [1, -1],
        ]),
      },
      success: false,
      metrics: {},
    },
  ],
  [
    "success beside it",
    { reward: -1, success: true },
    null,
    { rewards: { whole: -1, calls: new Map() }, success: true, metrics: {} },
  ],
  [
    "metrics",
    { reward: 1, metrics: { a: 2, b: true } },
    null,
    { rewards: { whole: 1, calls: new Map() }, success: true, metrics: { a: 2, b: 1 } },
  ],
  ["rewards that were reported before", {}, reported, { rewards: reported, success: true, metrics: {} }],
  [
    "rewards that were reported before, without an outcome",
    undefined,
    reported,
    { rewards: reported, success: true, metrics: {} },
  ],
  [
    "its own reward above those reported",
    { reward: 3 },
    reported,
    { rewards: { whole: 3, calls: new Map() }, success: true, metrics: {} },
  ],
])("reads %s", (_, outcome, before, expected) => {
  expect(readOutcome(outcome, before)).toEqual(Result.succeed(expected));
});

it.each<[unknown, RegExp]>([
  [undefined, /^it gave no outcome/],
  ["done", /^it gave no outcome/],
  [[1], /^it gave no outcome/],
  [{ reward: 1, sucess: true }, /^its outcome has the key "sucess"; it may have reward, turns, success, metrics$/],
  [{}, /^its outcome has neither reward nor turns$/],
  [{ turns: [] }, /^its outcome has neither reward nor turns$/],
  [{ reward: null }, /^its outcome has neither reward nor turns$/],
  [{ reward: "1" }, /^the reward is "1": a reward is a number/],
  [{ reward: Number.NaN }, /^the reward is NaN: a reward is a number/],
  [{ turns: [1, 1e10] }, /^the reward is \[1,10000000000\]/],
  [{ reward: 1, success: 1 }, /^success is 1: true or false is expected$/],
  [{ reward: 1, metrics: { a: "x" } }, /^the metric a is no number$/],
  [{ reward: 1, metrics: [1] }, /^metrics is no object of numbers$/],
])("refuses %j in a sentence", (outcome, sentence) => {
  const read = readOutcome(outcome);
  expect(Result.isFailure(read) && read.failure).toMatch(sentence);
});
