/** The test suite that grades answers to a task. */
import { describe, expect, it } from "vitest";
import { testSuiteOf } from "../../../../src/env/games/deepcoder/Task.ts";
import { configWith, doubling, echoing } from "./tasks.ts";

describe("the exam of a task", () => {
  it("has the first max_tests of its tests", () => {
    expect(testSuiteOf(configWith({ max_tests: 2 }), doubling).tests).toEqual(doubling.tests.slice(0, 2));
    expect(testSuiteOf(configWith(), doubling).tests).toHaveLength(4);
  });

  it("has the configured limits", () => {
    const config = configWith({ test_timeout: 3, total_timeout: 4, memory_mb: 16, output_kb: 2 });
    const expected = { testMs: 3000, totalMs: 4000, memoryBytes: 16 * 2 ** 20, outputBytes: 2048 };
    expect(testSuiteOf(config, echoing).limits).toEqual(expected);
  });

  it("has the usual imports where the task gives code to complete", () => {
    expect(testSuiteOf(configWith(), doubling).preamble).toBe(false);
    expect(testSuiteOf(configWith(), { ...doubling, starter: "class Solution:" }).preamble).toBe(true);
  });

  it("fails all tests at a timeout where configured", () => {
    expect(testSuiteOf(configWith(), doubling).timeoutFailsAll).toBe(false);
    expect(testSuiteOf(configWith({ timeout_fails_all: true }), doubling).timeoutFailsAll).toBe(true);
  });
});
