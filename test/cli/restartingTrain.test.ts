import { describe, expect, it } from "vitest";
import { childWords, restartAfter, resumeWords } from "../../pipelines/restartingTrain.ts";
import { crashOf, exitCodeOf } from "../../src/support/process/Supervisor.ts";

describe("the end of a child", () => {
  it.each([
    [{ code: null, signal: "SIGKILL" }, "SIGKILL", 137],
    [{ code: null, signal: "SIGABRT" }, "SIGABRT", 134],
    [{ code: 137, signal: null }, "SIGKILL", 137],
    [{ code: 139, signal: null }, "SIGSEGV", 139],
    [{ code: null, signal: "SIGTERM" }, null, 143],
    [{ code: 0, signal: null }, null, 0],
    [{ code: 1, signal: null }, null, 1],
    [{ code: 2, signal: null }, null, 2],
    [{ code: 130, signal: null }, null, 130],
  ] as const)("%j is the crash %s, and the exit code %i", (end, crash, code) => {
    expect([crashOf(end), exitCodeOf(end)]).toEqual([crash, code]);
  });
});

describe("a restart", () => {
  const killed = { code: null, signal: "SIGKILL" } as const;

  it("follows a crash and uses one of those that are left", () => {
    const restart = restartAfter(killed, { isStopping: false, left: 3 });
    expect(restart).toEqual({ reason: "the process was killed by SIGKILL", left: 2 });
  });

  it.each([
    ["a stop", killed, { isStopping: true, left: 3 }],
    ["the last restart", killed, { isStopping: false, left: 0 }],
    ["a failure with a message", { code: 1, signal: null }, { isStopping: false, left: 3 }],
  ] as const)("does not follow %s", (_, end, state) => {
    expect(restartAfter(end, state)).toBeNull();
  });
});

describe("the words of a child", () => {
  it.each([
    [["train", "--restarts", "3", "--config-name", "q"]],
    [["train", "--config-name", "q", "--restarts=3"]],
    [["train", "--trust", "--config-name", "q", "--restarts", "3"]],
  ])("are those of its parent without the restarts, and with its trust: %j", (words) => {
    expect(childWords(words)).toEqual(["train", "--trust", "--config-name", "q"]);
  });

  it("go on with the folder, and keep the page and the switches", () => {
    expect(resumeWords("runs/a", "near", true)).toEqual([
      "train",
      "--trust",
      "--debug",
      "--resume",
      "runs/a",
      "--watch=near",
    ]);
  });
});
