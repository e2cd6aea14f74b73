/** Processes of a module's agent, over real ones. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { afterAll } from "vitest";
import * as AgentProcesses from "../../../src/agents/host/AgentProcesses.ts";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import { gamesUrl } from "../../../src/env/games/registry.ts";
import { order } from "./orders.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-processes-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const patience = 60_000;

/** Plays an episode of an agent whose `run` has this body, in a process of its own. */
const play = (body: string, seconds = 30) => {
  const path = join(dir, "agent.ts");
  writeFileSync(
    path,
    `import { spawn } from "node:child_process";\nexport default { tasks: [1], run: async () => { ${body} } };`,
  );
  const setup = { path, registry: gamesUrl.href, presets: {} };
  const host = AgentProcesses.make(setup, { processes: 1, seconds });
  return Effect.runPromise(Effect.flatMap(host, ({ play }) => Effect.result(play(order(), new EpisodeAccount()))));
};

/** False for a process that has ended, whether or not it was waited for. */
const isThere = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

const startChild = `const { pid } = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });`;

describe("a process of an agent", { timeout: patience }, () => {
  it("gives the outcome of its episode, and is not of the run's process group", async () => {
    const result = await play(
      "return { turns: [process.pid, 2], metrics: { group: Number(process.kill(-process.pid, 0)) } };",
    );
    expect(result).toMatchObject({
      success: {
        rewards: {
          calls: new Map([
            [0, expect.any(Number)],
            [1, 2],
          ]),
        },
        metrics: { group: 1 },
      },
    });
  });

  it.skipIf(process.platform !== "linux")("ends with its episode, children included", async () => {
    const result = await play(`${startChild} return { reward: pid };`);
    const pid = result._tag === "Success" ? result.success.rewards.whole : 0;
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => isThere(pid), { timeout: patience }).toBe(false);
  });

  it.effect("is refused where its module does not load to an end", () =>
    Effect.gen(function* () {
      const path = join(dir, "endless.ts");
      writeFileSync(path, "setInterval(() => {}, 1e6); await new Promise(() => {});");
      const host = AgentProcesses.make({ path, registry: gamesUrl.href, presets: {} }, { processes: 1, seconds: 1 });
      const making = yield* Effect.forkChild(Effect.flip(host));
      yield* TestClock.adjust("60 seconds");
      expect((yield* Fiber.join(making)).message).toBe(`agent: ${path}: it has not loaded after 60 s`);
    }),
  );

  it.each([
    ["throws", 'throw new Error("the agent broke");', "agent_error", /the agent broke/],
    [
      "dies",
      'process.kill(process.ppid, 0); process.emit("disconnect"); await new Promise(() => {});',
      "agent_crashed",
      /^its process ended \(SIGKILL\)$/,
    ],
    ["takes too long", "for (;;);", "agent_timeout", /^it has not ended after 2 s$/],
  ])("fails its episode where it %s", async (_, body, reason, message) => {
    const result = await play(body, reason === "agent_timeout" ? 2 : 30);
    expect(result).toMatchObject({ failure: { reason, message: expect.stringMatching(message) } });
  });
});
