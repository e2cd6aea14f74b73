import { Effect, Result } from "effect";
import { describe, expect, it } from "vitest";
import { parse } from "../../pipelines/arguments.ts";
import { infos } from "../../pipelines/commands/all.ts";
import { type Problem, problemsIn } from "../problems.ts";

const outcome = (...words: readonly string[]) => Effect.runPromise(Effect.result(parse(words)));

/** The task that a command line asks for, or its request to the command line itself. */
const parsed = async (...words: readonly string[]) => {
  const { request, switches } = Result.getOrThrow(await outcome(...words));
  const command = request._tag === "Task" ? { name: request.name, ...Object(request.words) } : request;
  return { command, switches };
};

const refused = async (...words: readonly string[]): Promise<string> => {
  const result = await outcome(...words);
  return Result.isFailure(result) ? result.failure.message : "accepted";
};

describe("the command line", () => {
  it("takes flags and overrides in any order", async () => {
    const run = {
      command: {
        name: "train",
        configName: "q",
        envs: null,
        overrides: ["+a.b=1", "~c"],
        restarts: 0,
        resume: null,
        watch: null,
      },
      switches: { debug: true, trust: false },
    };
    expect(await parsed("train", "+a.b=1", "--config-name", "q", "--debug", "~c")).toEqual(run);
    expect(await parsed("train", "--debug", "--config-name=q", "+a.b=1", "~c")).toEqual(run);
  });

  it("goes on with a run of train or sft, or an evaluation", async () => {
    for (const pipeline of ["train", "sft", "evaluate"]) {
      const command = {
        name: pipeline,
        configName: null,
        envs: null,
        overrides: ["a=1"],
        resume: "runs/x",
        ...(pipeline === "train" ? { restarts: 0, watch: null } : {}),
      };
      expect((await parsed(pipeline, "--resume", "runs/x", "a=1")).command).toEqual(command);
    }
  });

  it("takes a file of presets, but for a run that goes on", async () => {
    const command = { name: "config", configName: "q", envs: "envs.yaml", overrides: ["a=1"] };
    expect((await parsed("config", "--config-name", "q", "--envs", "envs.yaml", "a=1")).command).toEqual(command);
    expect(await refused("train", "--resume", "runs/x", "--envs", "envs.yaml")).toContain("--envs and --resume");
  });

  it.each([
    [["--watch"], "near"],
    [["--watch", "--debug"], "near"],
    [["--watch", "a=1"], "near"],
    [["--watch", "9000"], 9_000],
    [["--watch=0", "a=1"], 0],
    [[], null],
  ] as const)("takes the port of a run's page from %j", async (words, watch) => {
    expect((await parsed("train", "--config-name", "q", ...words)).command).toMatchObject({ watch });
  });

  it("takes what to compare, and folders for a leaderboard", async () => {
    expect((await parsed("compare", "runs/a", "--json", "runs/b@400")).command).toEqual({
      name: "compare",
      runs: ["runs/a", "runs/b@400"],
      json: true,
    });
    expect((await parsed("leaderboard", "runs", "--output", "x.html")).command).toEqual({
      name: "leaderboard",
      folders: ["runs"],
      output: "x.html",
      title: "Leaderboard",
    });
    expect(await refused("compare")).toContain("compare: RUN is missing");
    expect(await refused("leaderboard")).toContain("leaderboard: DIR is missing");
  });

  it("takes runs to watch, on loopback unless told otherwise", async () => {
    const command = { name: "watch", runs: ["runs/a", "runs/b"], host: "127.0.0.1", port: 7_788, tokenFile: null };
    expect((await parsed("watch", "runs/a", "runs/b")).command).toEqual(command);
    const words = ["watch", "runs/a", "--port", "0", "--host", "0.0.0.0", "--token-file", "secret"];
    const wide = { runs: ["runs/a"], host: "0.0.0.0", port: 0, tokenFile: "secret" };
    expect((await parsed(...words)).command).toMatchObject(wide);
  });

  it.each([
    [["concurrency", "rollout", "8"], { _tag: "SetConcurrency", stage: "rollout", concurrency: 8 }],
    [["pause"], { _tag: "PauseAdmission" }],
    [["resume"], { _tag: "ResumeAdmission" }],
    [["validate"], { _tag: "Validate" }],
    [["checkpoint"], { _tag: "Checkpoint" }],
    [["stop"], { _tag: "Stop" }],
  ] as const)("takes the control %j", async (words, control) => {
    const { command } = await parsed("control", "runs/a", ...words);
    expect(command).toEqual({ name: "control", run: "runs/a", control });
  });

  it("takes a sweep's file, one run at once unless told otherwise", async () => {
    const command = { name: "sweep", file: "top_p", overrides: ["a=1"], jobs: 1, list: false };
    expect((await parsed("sweep", "top_p", "a=1")).command).toEqual(command);
    const words = ["sweep", "./mine.yaml", "--jobs", "3", "--list"];
    expect((await parsed(...words)).command).toMatchObject({ file: "./mine.yaml", jobs: 3, list: true });
    expect(await refused("sweep", "a=1")).toContain("sweep: FILE is missing");
  });

  it("takes a value that begins with a dash", async () => {
    const command = await parsed("trace", "Countdown", "--actions", "-2 + 3", "--seed", "1", "a=-1");
    expect(command).toMatchObject({ command: { actions: ["-2 + 3"], seed: 1, overrides: ["a=-1"] } });
  });

  it("takes words after -- as they are", async () => {
    expect((await parsed("envs", "--", "--a=1")).command).toMatchObject({ overrides: ["--a=1"] });
  });

  it("takes a prompt's preset, seed and replies, none of which it needs", async () => {
    const words = { configName: "quickstart", envs: null, overrides: [] };
    const none = { tag: null, seed: null, actions: [], json: false };
    expect((await parsed("prompt", "--config-name", "quickstart")).command).toEqual({
      name: "prompt",
      ...words,
      ...none,
    });
    const given = ["--tag", "Lake", "--seed", "3", "--actions", "Up || Left", "--actions", "Down", "--json"];
    const read = { tag: "Lake", seed: 3, actions: ["Up || Left", "Down"], json: true };
    expect((await parsed("prompt", "--config-name", "quickstart", ...given)).command).toEqual({
      name: "prompt",
      ...words,
      ...read,
    });
  });

  it("takes a trace's tag, seed and actions", async () => {
    expect((await parsed("trace", "FrozenLake", "--seed", "3", "--actions", "Up || Left", "a=1")).command).toEqual({
      name: "trace",
      configName: "base",
      envs: null,
      tag: "FrozenLake",
      seed: 3,
      actions: ["Up || Left"],
      overrides: ["a=1"],
    });
  });

  it("takes what a server needs, on loopback and with limits unless told otherwise", async () => {
    const command = {
      name: "serve-env",
      configName: "base",
      overrides: ["a=1"],
      tag: "FrozenLake",
      host: "127.0.0.1",
      port: 8000,
      maxSessions: 256,
      idleMs: 900_000,
      maxSteps: 10_000,
      maxMessageBytes: 1_048_576,
      maxConnections: 1_024,
      maxBufferedBytes: 67_108_864,
      requestMs: 30_000,
      allowedHosts: [],
      allowedOrigins: [],
      tokenFile: null,
    };
    expect((await parsed("serve-env", "FrozenLake", "--port", "8000", "a=1")).command).toEqual(command);
    const limits = ["--max-sessions", "2", "--idle-seconds", "3", "--host", "::1", "--max-steps=4"];
    expect((await parsed("serve-env", "FrozenLake", "--port", "8000", "a=1", ...limits)).command).toEqual({
      ...command,
      host: "::1",
      maxSessions: 2,
      idleMs: 3_000,
      maxSteps: 4,
    });
  });

  it("gives a server as many connections as its sessions need, and room for its messages", async () => {
    const large = ["--max-sessions", "5000", "--max-message-bytes", "100000000"];
    expect((await parsed("serve-env", "FrozenLake", "--port", "1", ...large)).command).toMatchObject({
      maxConnections: 5_256,
      maxBufferedBytes: 400_000_000,
    });
  });

  it("takes names and origins of a server as often as they are given, and a file with its token", async () => {
    const words = ["--allow-host", "box", "--allow-host=lab.local", "--allow-origin", "http://localhost:3000"];
    const command = await parsed("serve-env", "FrozenLake", "--port", "1", ...words, "--token-file", "secret");
    expect(command.command).toMatchObject({
      allowedHosts: ["box", "lab.local"],
      allowedOrigins: ["http://localhost:3000"],
      tokenFile: "secret",
    });
  });

  it("explains a command wherever --help stands", async () => {
    expect((await parsed("train", "a=1", "-h")).command).toEqual({ _tag: "Help", topic: ["train"] });
    expect((await parsed("--help")).command).toEqual({ _tag: "Help", topic: [] });
  });

  it("says its version", async () => {
    expect((await parsed("--version")).command).toEqual({ _tag: "Version" });
  });

  it.each(["bash", "zsh", "fish"])("prints the completion script of %s", async (shell) => {
    const { command } = await parsed("--completions", shell);
    expect(command).toMatchObject({ _tag: "Completions", script: expect.stringContaining("millrace complete") });
  });

  it("takes no words for a request for help", async () => {
    expect((await parsed()).command).toEqual({ _tag: "Help", topic: [] });
  });

  it("takes tune's budget in minutes, and leaves the bound on staleness alone unless it is named", async () => {
    const command = { name: "tune", configName: "quickstart", overrides: ["a=1"], output: null } as const;
    expect((await parsed("tune", "--config-name", "quickstart", "a=1")).command).toEqual({
      ...command,
      budgetMinutes: 10,
      maxStaleness: null,
    });
    const words = ["--budget", "3", "--max-staleness", "4", "--output", "mine.yaml"];
    expect((await parsed("tune", "--config-name", "quickstart", "a=1", ...words)).command).toEqual({
      ...command,
      budgetMinutes: 3,
      maxStaleness: 4,
      output: "mine.yaml",
    });
  });

  it("has no command that is not there yet", async () => {
    expect([...infos.keys()]).toEqual([
      "init",
      "train",
      "evaluate",
      "sft",
      "config",
      "plan",
      "tune",
      "envs",
      "env",
      "agent",
      "trace",
      "prompt",
      "serve-env",
      "watch",
      "control",
      "report",
      "replay",
      "sweep",
      "runs",
      "compare",
      "leaderboard",
      "merge",
      "import",
      "untie",
      "worker",
      "broker-config",
      "help",
    ]);
  });

  it.each([
    [["tain"], 'unknown command "tain"; nearest: train; all: '],
    [["evaluate", "--no-debug"], 'evaluate: unknown flag "--no-debug"; nearest: --debug; all: --debug, '],
    [["control", "runs/a", "puase"], 'control: unknown control "puase"; nearest: pause; all: concurrency, pause, '],
    [["--completions", "ksh"], 'millrace: --completions: "ksh": expected one of zsh, bash, fish; nearest: zsh'],
    [["train", "--config-name", "a", "--config-name", "b"], "train: --config-name: given 2 times, expected once"],
    [
      ["train", "--config-name", "a", "--resume", "b"],
      "train: --config-name and --resume exclude each other: a resumed run",
    ],
    [["train", "--config-name"], "train: --config-name needs a value: --config-name NAME"],
    [["watch"], "watch: RUN is missing: millrace watch RUN... [--port N]"],
    [["control", "runs/a", "pause", "now"], 'control: pause takes no "now"'],
    [
      ["serve-env", "FrozenLake", "--port", "70000"],
      'serve-env: --port: "70000": expected an integer from 0 to 65535; nearest: 65535',
    ],
    [
      ["serve-env", "FrozenLake", "--port", "1", "--max-buffered-bytes", "5000"],
      "serve-env: --max-buffered-bytes: 5000: less than one message (--max-message-bytes 1048576); nearest: 1048576",
    ],
  ])("says in one sentence what is wrong with %j", async (words, sentence) => {
    expect((await refused(...words)).slice(0, sentence.length)).toBe(sentence);
  });

  it.each([
    [["sft", "--config-name", "a", "--resume", "b"], "--config-name and --resume", null],
    [["train", "--config-name", "--debug"], "--config-name", null],
    [["trace", "--seed", "1", "--actions", "Up"], "TAG is missing", null],
    [["trace", "FrozenLake", "--actions", "Up"], "--seed is missing", null],
    [["trace", "FrozenLake", "--seed", "1"], "--actions is missing", null],
    [["trace", "FrozenLake", "--seed", "-1", "--actions", "Up"], "--seed", "0"],
    [["tune"], "--config-name is missing", null],
    [["serve-env", "--port", "1"], "TAG is missing", null],
    [["serve-env", "FrozenLake"], "--port is missing", null],
    [["serve-env", "FrozenLake", "--port", "http"], "--port", "8000"],
    [["serve-env", "FrozenLake", "--port", "1", "--max-sessions", "0"], "--max-sessions", "1"],
    [["serve-env", "FrozenLake", "--port", "1", "--max-connections", "x"], "--max-connections", "1024"],
    [["serve-env", "FrozenLake", "--port", "1", "--allow-host", "box:80"], "--allow-host", null],
    [["serve-env", "FrozenLake", "--port", "1", "--allow-origin", "null"], "--allow-origin", null],
    [["serve-env", "FrozenLake", "--port", "1", "--allow-origin", "*"], "--allow-origin", null],
    [["watch", "runs/a", "--port", "70000"], "--port", "65535"],
    [["train", "--config-name", "q", "--watch", "70000"], "--watch", "65535"],
    [["train", "--config-name", "q", "--watch", "me"], "--watch", "7788"],
    [["control"], "RUN is missing", null],
    [["control", "runs/a"], "what to do is missing", null],
    [["control", "runs/a", "concurrency"], "STAGE is missing", null],
    [["control", "runs/a", "concurrency", "rollout"], "N is missing", null],
    [["control", "runs/a", "concurrency", "rollout", "0"], "concurrency", "1"],
    [["control", "runs/a", "concurrency", "rollout", "99999"], "concurrency", "65536"],
    [["control", "runs/a", "concurrency", "rollout", "2", "3"], 'no "3"', null],
  ])("refuses %j", async (words, named, nearest) => {
    const [command = ""] = words;
    const problem: Problem = { key: command, nearest, text: expect.stringContaining(named) };
    expect(problemsIn(await refused(...words))).toEqual([problem]);
  });

  it("refuses more words than a command line may have, before it reads them", async () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `key${index}=1`);
    expect(await refused("train", ...words)).toBe(
      "20001 words: at most 10000 are taken; write overrides to a run file",
    );
  });

  it("cuts a long word, and shows what a terminal would obey as escapes", async () => {
    const message = await refused(`\u001b[31m${"x".repeat(100_000)}`);
    expect(message).toContain('unknown command "\\u001b[31mxxx');
    expect(message.length).toBeLessThan(300);
  });
});
