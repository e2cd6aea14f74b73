/** An agent in a server of the user's: the handler, and the run's side that asks it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { describe, expect, it, vi } from "vitest";
import { defineAgent } from "../../../src/agents/host/Agent.ts";
import * as AgentServer from "../../../src/agents/host/AgentServer.ts";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import { rolloutHandler } from "../../../src/agents/host/rolloutHandler.ts";
import { order } from "./orders.ts";
import { served } from "./servedHandler.ts";

const agent = defineAgent<{ readonly wants: string }>({
  tasks: (seed, split) => ({ wants: `${split} ${seed}` }),
  run: ({ episode, task }) => {
    if (episode.member === 2) throw new Error("the agent broke");
    if (episode.member === 3) return {};
    return { turns: [0, 1], metrics: { length: task.wants.length }, success: episode.baseURL.endsWith("/v1") };
  },
});

const token = "a-token-of-some-length";
const ask = (url: string, member: number, given: string | null = token) =>
  Effect.runPromise(
    Effect.result(AgentServer.make(url, given, { seconds: 30 }).play(order({ member }), new EpisodeAccount())),
  );

describe("an agent in a server of the user's", () => {
  it("plays a task of the level that the run asks for", () => {
    const levels: (string | undefined)[] = [];
    const levelled = defineAgent({
      tasks: (_seed, _split, level) => level ?? "none",
      run: ({ episode, task }) => {
        levels.push(task, episode.level);
        return { reward: 1 };
      },
    });
    return served(rolloutHandler(levelled), async (url) => {
      const host = AgentServer.make(url, null, { seconds: 30 });
      await Effect.runPromise(host.play(order({ level: "hard" }), new EpisodeAccount()));
      await Effect.runPromise(host.play(order(), new EpisodeAccount()));
      expect(levels).toEqual(["hard", "hard", "none", undefined]);
    });
  });

  it("plays the episode that a run asks for", () =>
    served(rolloutHandler(agent, { token }), async (url) => {
      expect(await ask(url, 0)).toMatchObject({
        success: {
          rewards: {
            whole: 0,
            calls: new Map([
              [0, 0],
              [1, 1],
            ]),
          },
          success: true,
          metrics: { length: 7 },
        },
      });
    }));

  it("fails episodes whose agent throws or gives no reward", () =>
    served(rolloutHandler(agent, { token }), async (url) => {
      const message = expect.stringMatching(/^its server answered 500: Error: the agent broke$/);
      expect(await ask(url, 2)).toMatchObject({ failure: { reason: "agent_error", message } });
      expect(await ask(url, 3)).toMatchObject({
        failure: { message: expect.stringMatching(/neither reward nor turns$/) },
      });
    }));

  it("refuses a run without the token", () =>
    served(rolloutHandler(agent, { token }), async (url) => {
      for (const wrong of [null, "another-token-of-some-length"])
        expect(await ask(url, 0, wrong)).toMatchObject({
          failure: { message: expect.stringContaining("answered 401") },
        });
    }));

  // Node's fetch gives up a reply that is not there after 300 s, and an episode may take longer.
  it("is asked without fetch, which has a limit of time of its own", () =>
    served(rolloutHandler(agent, { token }), async (url) => {
      vi.stubGlobal("fetch", () => Promise.reject(new Error("Headers Timeout Error")));
      try {
        expect(await ask(url, 0)).toMatchObject({ success: { success: true } });
      } finally {
        vi.unstubAllGlobals();
      }
    }));

  it("gets the end of its request where the episode takes too long", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const server = createServer((_, response) => void response.on("close", resolve));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rollout`;
    const host = AgentServer.make(url, null, { seconds: 0.2 });
    const result = await Effect.runPromise(Effect.result(host.play(order(), new EpisodeAccount())));
    expect(result).toMatchObject({ failure: { reason: "agent_timeout" } });
    await ended;
    await new Promise((resolve) => server.close(resolve));
  });

  it("fails episodes where the server is gone", async () => {
    const failure = {
      reason: "agent_crashed",
      message: expect.stringMatching(/^its server at .* could not be asked: .*ECONNREFUSED/),
    };
    for (const host of ["127.0.0.1", "localhost"])
      expect(await ask(`http://${host}:1024/rollout`, 0)).toMatchObject({ failure });
  });

  it("reads its tasks again where they could not be read", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-rollout-"));
    try {
      const handler = rolloutHandler({ tasks: "tasks.jsonl", run: () => ({ reward: 1 }) }, { folder });
      const { noise: _, ...body } = order();
      const status = async () =>
        (await handler(new Request("http://localhost/", { method: "POST", body: JSON.stringify(body) }))).status;
      expect(await status()).toBe(500);
      writeFileSync(join(folder, "tasks.jsonl"), "1\n");
      expect(await status()).toBe(200);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ["GET", undefined, 405],
    ["POST", "{}", 400],
    ["POST", "no JSON", 400],
  ])("answers %s %s with %i", async (method, body, status) => {
    const request = new Request("http://localhost/rollout", { method, ...(body === undefined ? {} : { body }) });
    expect((await rolloutHandler(agent)(request)).status).toBe(status);
  });
});
