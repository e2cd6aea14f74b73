/** The command line from outside: exit codes, and what is printed where. Each start costs about half a second, so few of them. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;

const millrace = (...words: readonly string[]) => {
  // From elsewhere: nothing may depend on the working directory.
  const { status, stderr, stdout } = spawnSync(process.execPath, [`${root}pipelines/millrace.mjs`, ...words], {
    cwd: tmpdir(),
    encoding: "utf8",
  });
  return { status, stderr, stdout };
};

describe("bad input exits with 2, prints one message on standard error and nothing else", () => {
  it.each([
    [
      ["trian"],
      'unknown command "trian"; nearest: train; all: train, plan, trace, tune, runs, sft, envs, env, prompt, watch, sweep, merge, untie, worker, help, config, control, report, compare, import, … (24 in all)\n',
    ],
    [
      ["train", "--config-name", "quickstart", "filter.strategy=top_q"],
      'filter.strategy: "top_q" (override): expected one of top_p, top_k, min_p, top_k_abs, within_group, percentile_range; nearest: top_p\n',
    ],
    [
      ["train", "--config-name", "quickstart", "run.name=../../x"],
      'run.name: "../../x" (override): expected the name of one folder: no slashes, no dot or dash in front, at most 200 bytes; nearest: x\n',
    ],
    [["train", "--config-name", "/dev/zero"], "/dev/zero: is a pipe or a device, not a file\n"],
    [
      ["trace", "FrozenLake", "--seed", "1", "--actions", "Up || Lft"],
      '--actions: "Lft" is no action of FrozenLake; nearest: Left; all: Left, Down, Right, Up\n',
    ],
  ])("%j", (words, stderr) => {
    expect(millrace(...words)).toEqual({ status: 2, stderr, stdout: "" });
  });

  it("for a run file that does not exist", () => {
    const { status, stderr } = millrace("train", "--config-name", "quikstart");
    expect({ status, lines: stderr.trimEnd().split("\n").length }).toEqual({ status: 2, lines: 1 });
    expect(stderr).toContain("nearest: quickstart");
  });

  it("for a key of an environment's own settings", () => {
    const override = "custom_envs.FrozenLake.env_config.succes_rate=1";
    const { status, stderr } = millrace("evaluate", "--config-name", "quickstart", override);
    expect(status).toBe(2);
    expect(stderr).toContain("succes_rate: unknown key; nearest: custom_envs.FrozenLake.env_config.success_rate;");
  });

  it("for training with a run file that only validates", () => {
    const { status, stderr } = millrace("train", "--config-name", "quickstart", "trainer.val_only=True");
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        "train: trainer.val_only: this run file only validates; nearest: millrace evaluate --config-name quickstart\n",
    });
  });

  it("for a model folder that does not exist", () => {
    const { status, stderr } = millrace("train", "--config-name", "quickstart", "model.path=config/modls");
    expect({ status, stderr: stderr.split(";", 1).join().trimEnd() }).toEqual({
      status: 2,
      stderr: 'model.path: "config/modls": no such folder',
    });
  });
});

describe("millrace trace", () => {
  it("prints one JSON object per action, line 0 being the reset, and stops with the episode", () => {
    const { status, stderr, stdout } = millrace(
      "trace",
      "FrozenLake",
      "--seed",
      "1",
      "custom_envs.FrozenLake.env_config.success_rate=1",
      "--actions",
      Array.from({ length: 40 }, (_, index) => ["down", "Right"][index % 2]).join(" || "),
    );
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
    const { status, stdout } = millrace("envs", "custom_envs.FrozenLake.env_config.success_rate=0.5");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^FrozenLake +frozen_lake .*success_rate=0.5/m);
    expect(stdout).toMatch(/^sokoban +num_boxes /m);
  });
});
