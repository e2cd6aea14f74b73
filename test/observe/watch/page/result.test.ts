/** The result of a run, in words. */
import { describe, expect, it } from "vitest";
import type { RunSummary } from "../../../../src/observe/watch/Api.ts";
import { intervalText, resultSentence, type Validation } from "../../../../src/observe/watch/page/result.ts";

const at = (step: number | null, success: number, interval: Validation["interval"] = null): Validation => ({
  step,
  success,
  interval,
  instances: null,
  episodes: null,
  failed: 0,
});

const summary = (change: Partial<RunSummary> = {}): RunSummary => ({
  kind: "training",
  steps: { done: 600, planned: 600 },
  minutes: 12.5,
  validation: { before: at(0, 0.19, [0.16, 0.23]), best: at(600, 0.62), last: at(600, 0.62, [0.58, 0.66]) },
  failedShare: null,
  checkpoint: { newest: 600, best: null },
  folder: "runs/lake/1",
  ...change,
});

const said = (state: Parameters<typeof resultSentence>[0]["state"], change: Partial<RunSummary> = {}): string =>
  resultSentence({ name: "lake", state }, summary(change)).replaceAll("\u00a0", " ");

describe("the sentence of a run's result", () => {
  it("says how it ended, how far it came, and its validations before and last", () => {
    expect(said("completed")).toBe(
      "lake completed 600 steps in 12 m 30 s: validation success went from 19 % (16–23 %) to 62 % (58–66 %).",
    );
  });

  it("says the best where the last is worse, and the steps planned where they were not made", () => {
    const validation = { before: at(0, 0.19), best: at(200, 0.7), last: at(300, 0.4) };
    expect(said("stopped", { steps: { done: 300, planned: 600 }, minutes: null, validation })).toBe(
      "lake was stopped after 300 of 600 steps: validation success went from 19 % to 40 %; the best was 70 % after step 200.",
    );
  });

  it("says what was not measured", () => {
    const none = { before: null, best: null, last: null };
    expect(said("dead", { steps: { done: 1, planned: null }, minutes: null, validation: none })).toBe(
      "lake was killed after 1 step: no validation was played.",
    );
  });

  it("is of the success alone of an evaluation", () => {
    const validation = { before: null, best: at(null, 0.5), last: at(null, 0.5, [0.4, 0.6]) };
    expect(said("completed", { kind: "evaluation", minutes: 2, validation })).toBe(
      "The evaluation lake completed in 2 m 00 s: success is 50 % (40–60 %).",
    );
  });
});

it("an interval does not break, and is empty where it is not known", () => {
  expect([intervalText(at(1, 0.5, [0.4, 0.6])), intervalText(at(1, 0.5))]).toEqual(["40–60\u00a0%", ""]);
});
