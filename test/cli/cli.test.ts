/** The command line from outside: exit codes, and what is printed where. Each start costs about half a second, so few of them. */
import { describe, expect, it } from "vitest";
import { type Problem, problemsIn } from "../problems.ts";
import { millrace } from "./process.ts";

describe("bad input exits with 2, prints one message on standard error and nothing else", () => {
  const lakeKey = "custom_envs.FrozenLake.env_config.success_rate";

  it.each([
    [["trian"], 'unknown command "trian"', "train"],
    [["train", "--config-name", "quickstart", "filter.strategy=top_q"], "filter.strategy", "top_p"],
    [["train", "--config-name", "quickstart", "run.name=../../x"], "run.name", "x"],
    [["train", "--config-name", "/dev/zero"], "/dev/zero", null],
    [["train", "--config-name", "quikstart"], 'no run file "quikstart"', "quickstart"],
    [["trace", "FrozenLake", "--seed", "1", "--actions", "Up || Lft"], "--actions", "Left"],
    [
      ["evaluate", "--config-name", "quickstart", lakeKey.replace("success", "succes").concat("=1")],
      "succes_rate",
      lakeKey,
    ],
    // This run file only validates.
    [
      ["train", "--config-name", "quickstart", "trainer.val_only=True"],
      "trainer.val_only",
      "millrace evaluate --config-name quickstart",
    ],
    [["train", "--config-name", "quickstart", "model.path=config/modls"], "model.path", "config/models"],
    [["init", import.meta.dirname], "it is not empty", null],
  ])("%j", (words, named, nearest) => {
    const { status, stderr, stdout } = millrace(words);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    const problem: Partial<Problem> = { nearest, text: expect.stringContaining(named) };
    expect(problemsIn(stderr)).toMatchObject([problem]);
  });
});

describe("millrace trace", () => {
  it("prints one JSON object per action, line 0 being the reset, and stops with the episode", () => {
    const { status, stderr, stdout } = millrace([
      "trace",
      "FrozenLake",
      "--seed",
      "1",
      "custom_envs.FrozenLake.env_config.success_rate=1",
      "--actions",
      Array.from({ length: 40 }, (_, index) => ["down", "Right"][index % 2]).join(" || "),
    ]);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(lines.map(({ t }) => t)).toEqual(lines.map((_, index) => index));
    expect(Object.keys(lines[0])).toEqual(["t", "observation", "reward", "terminated", "truncated", "success", "info"]);
    expect(lines.slice(0, -1).every(({ terminated, truncated }) => !terminated && !truncated)).toBe(true);
  });
});

describe("millrace envs", () => {
  it("lists presets and the keys of their environments, overrides applied", () => {
    const { status, stdout } = millrace(["envs", "custom_envs.FrozenLake.env_config.success_rate=0.5"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^FrozenLake +frozen_lake .*success_rate=0.5/m);
    expect(stdout).toMatch(/^sokoban +num_boxes /m);
  });
});
