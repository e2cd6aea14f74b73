/** Commands as agents. Each is a short program of Node's, which is the one interpreter that tests can count on. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Fiber } from "effect";
import { afterAll, describe, expect, it, vi } from "vitest";
import * as AgentCommands from "../../../src/agents/host/AgentCommands.ts";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import type { TaskSource } from "../../../src/agents/host/tasks.ts";
import { order } from "./orders.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-commands-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const hostOf = (script: string, { seconds = 60, processes = 4 } = {}, taskOf: TaskSource = (seed) => ({ seed })) =>
  AgentCommands.make([process.execPath, "-e", script], taskOf, { seconds, processes });

/** Plays an episode with a command of this script. */
const play = (script: string, account = new EpisodeAccount(), limits = {}, taskOf?: TaskSource) =>
  Effect.runPromise(
    Effect.flatMap(hostOf(script, limits, taskOf), (host) => Effect.result(host.play(order(), account))),
  );

const failure = (reason: string, message: RegExp) => ({
  _tag: "Failure",
  failure: { reason, message: expect.stringMatching(message) },
});

const patience = 60_000;

describe("a command as an agent", { timeout: patience }, () => {
  it("gets the endpoint, its key and the task, and gives its outcome in its last line", async () => {
    const path = join(dir, "variables.json");
    const names = ["OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "MILLRACE_TASK"];
    const script = `
      const fs = require("fs");
      const variables = Object.fromEntries(${JSON.stringify(names)}.map((name) => [name, process.env[name]]));
      fs.writeFileSync(${JSON.stringify(path)}, JSON.stringify({ ...variables, input: fs.readFileSync(0, "utf8"), token: process.env.MILLRACE_TOKEN }));
      console.log("progress");
      console.log('{"reward": 1, "metrics": {"steps": 3}}');`;
    process.env.MILLRACE_TOKEN = "the-token-of-the-run";
    const result = await play(script).finally(() => delete process.env.MILLRACE_TOKEN);
    expect(result).toMatchObject({ success: { rewards: { whole: 1 }, success: true, metrics: { steps: 3 } } });
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_API_KEY: "mr-ep-1",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
      ANTHROPIC_API_KEY: "mr-ep-1",
      MILLRACE_TASK: '{"seed":7}',
      input: '{"seed":7}\n',
    });
  });

  it("tells the level of the episode, where there is one", () => {
    const episodeOf = (level?: string) =>
      JSON.parse(AgentCommands.environmentOf(order(level === undefined ? {} : { level }), "1").MILLRACE_EPISODE ?? "");
    expect(episodeOf("hard")).toEqual({ split: "train", seed: 7, group: 3, member: 1, level: "hard" });
    expect(episodeOf()).toEqual({ split: "train", seed: 7, group: 3, member: 1 });
  });

  it("asks no proxy for the endpoint", () => {
    const proxies = (more: NodeJS.ProcessEnv) => {
      for (const [name, value] of Object.entries(more)) vi.stubEnv(name, value);
      const { NO_PROXY, no_proxy } = AgentCommands.environmentOf(order(), "1");
      return [NO_PROXY, no_proxy];
    };
    const unset = { NO_PROXY: undefined, no_proxy: undefined };
    try {
      expect(proxies(unset)).toEqual(["127.0.0.1", "127.0.0.1"]);
      const both = "example.org,127.0.0.1";
      expect(proxies({ no_proxy: "example.org" })).toEqual([both, both]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each([
    ["prints no outcome", `console.log("done")`, failure("agent_error", /^its last line is no outcome .*: "done"$/)],
    ["prints nothing", "", failure("agent_error", /: nothing$/)],
    ["prints an outcome without a reward", `console.log("{}")`, failure("agent_error", /neither reward nor turns/)],
    [
      "throws",
      `throw new TypeError("no such tool")`,
      failure("agent_error", /^its command ended with exit code 1: TypeError: no such tool$/),
    ],
    [
      "throws an error that is named an exception",
      `class ToolException extends Error { name = "ToolException"; } throw new ToolException("no such tool");`,
      failure("agent_error", /^its command ended with exit code 1: ToolException: no such tool/),
    ],
    [
      "gives up after an error that it survived",
      `console.error("Error: busy: again\\nno more tries"); process.exitCode = 1`,
      failure("agent_error", /^its command ended with exit code 1: no more tries$/),
    ],
    [
      "ends with a code",
      `console.error("no key"); process.exitCode = 3`,
      failure("agent_error", /^its command ended with exit code 3: no key$/),
    ],
    ["dies", `process.kill(process.pid, "SIGKILL")`, failure("agent_crashed", /^its command was ended by SIGKILL/)],
  ])("fails its episode where it %s", async (_, script, expected) => {
    expect(await play(script)).toMatchObject(expected);
  });

  it("gets a task that is too long for a variable on its standard input alone, by its bytes", async () => {
    const script = `
      const { length } = JSON.parse(require("fs").readFileSync(0, "utf8"));
      console.log(JSON.stringify({ reward: length, success: process.env.MILLRACE_TASK === undefined }));`;
    const long = "\u6f22".repeat(90_000);
    const result = await play(script, new EpisodeAccount(), {}, () => long);
    expect(result).toMatchObject({ success: { rewards: { whole: long.length }, success: true } });
  });

  it("fails its episode where the system does not start it", async () => {
    const result = await play(`"${"x".repeat(4_000_000)}"`);
    expect(result).toMatchObject(failure("agent_crashed", /^its command could not be run: spawn E2BIG$/));
  });

  it("takes the rewards of control routes where it prints none", async () => {
    const account = new EpisodeAccount();
    account.setReward(null, 2);
    expect(await play("", account)).toMatchObject({ success: { rewards: { whole: 2 } } });
  });

  it("ends with the end that it reports, without waiting for the process", async () => {
    const account = new EpisodeAccount();
    account.reportEnd({ status: "done", message: "", outcome: { reward: 1 } });
    expect(await play("setTimeout(() => {}, 1e6)", account)).toMatchObject({ success: { rewards: { whole: 1 } } });
  });

  /** Starts an episode whose command has a child that heeds no signal, uses its fiber, and expects that the child has ended. */
  const withChild = async (use: (fiber: Fiber.Fiber<unknown, unknown>) => Promise<void>): Promise<void> => {
    const path = join(dir, "child.pid");
    rmSync(path, { force: true });
    const child = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6)`;
    const script = `
      const child = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "ignore" });
      require("fs").writeFileSync(${JSON.stringify(path)}, String(child.pid));
      setInterval(() => {}, 1e6);`;
    const pidOf = (): number => {
      try {
        return Number(readFileSync(path, "utf8"));
      } catch {
        return 0;
      }
    };
    const isThere = (pid: number): boolean => {
      try {
        return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
      } catch {
        return false;
      }
    };
    const fiber = Effect.runFork(Effect.flatMap(hostOf(script), (host) => host.play(order(), new EpisodeAccount())));
    await expect.poll(pidOf, { timeout: patience }).toBeGreaterThan(0);
    const pid = pidOf();
    expect(isThere(pid)).toBe(true);
    await use(fiber);
    await expect.poll(() => isThere(pid), { timeout: patience }).toBe(false);
  };

  it("kills what outlives its episode, children included", () =>
    withChild((fiber) => Effect.runPromise(Fiber.interrupt(fiber))));

  it("is killed, children included, where the run's process ends at once", async () => {
    const before = process.listeners("exit");
    await withChild(async (fiber) => {
      const added = process.listeners("exit").filter((listener) => !before.includes(listener));
      expect(added).toHaveLength(1);
      added[0]?.(130);
      await Effect.runPromise(Effect.exit(Fiber.join(fiber)));
    });
    expect(process.listeners("exit")).toEqual(before);
  });

  it("ends with the command, whatever processes it leaves behind", async () => {
    const script = `
      require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "inherit" }).unref();
      console.log('{"reward": 1}');`;
    expect(await play(script, new EpisodeAccount(), { seconds: 20 })).toMatchObject({
      success: { rewards: { whole: 1 } },
    });
  });

  it("fails an episode that takes too long", async () => {
    expect(await play("setInterval(() => {}, 1e6)", new EpisodeAccount(), { seconds: 1 })).toMatchObject(
      failure("agent_timeout", /^it has not ended after 1 s$/),
    );
  });

  it("runs no more processes at once than it may", async () => {
    const script = `
      const fs = require("fs"), own = ${JSON.stringify(dir)} + "/run-" + process.pid;
      fs.writeFileSync(own, "");
      const most = fs.readdirSync(${JSON.stringify(dir)}).filter((name) => name.startsWith("run-")).length;
      setTimeout(() => { fs.rmSync(own); console.log(JSON.stringify({ reward: most })); }, 50);`;
    const results = await Effect.runPromise(
      Effect.flatMap(hostOf(script, { processes: 1 }), (host) =>
        Effect.forEach([1, 2, 3], () => host.play(order(), new EpisodeAccount()), { concurrency: "unbounded" }),
      ),
    );
    expect(results.map(({ rewards: { whole } }) => whole)).toEqual([1, 1, 1]);
  });

  it.each(["no-such-program", "./no-such-program"])(
    "is refused before the run where %s is not there",
    async (program) => {
      const error = await Effect.runPromise(
        Effect.flip(AgentCommands.make([program], () => null, { seconds: 1, processes: 1 })),
      );
      expect(error.message).toMatch(/^agent\.command: ".*no-such-program": no such program/);
    },
  );
});
