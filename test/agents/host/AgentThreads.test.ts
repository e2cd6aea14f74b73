/** Threads of a module's agent, over real threads and real time: the thresholds are short, and a busy machine changes no result. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Worker } from "node:worker_threads";
import { Effect, Fiber, type Result, type Scope } from "effect";
import { afterAll, describe, expect, it } from "vitest";
import type { AgentHost } from "../../../src/agents/host/AgentHost.ts";
import * as AgentThreads from "../../../src/agents/host/AgentThreads.ts";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import type { HostFailure } from "../../../src/agents/host/HostFailure.ts";
import type { AgentResult } from "../../../src/agents/host/outcome.ts";
import type { BadInput } from "../../../src/domain/Errors.ts";
import { gamesUrl } from "../../../src/env/games/registry.ts";
import { order } from "./orders.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-threads-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const patience = 60_000;

/** A host of an agent whose `run` has this body. */
const hostOf = (
  name: string,
  body: string,
  limits: Partial<AgentThreads.ThreadLimits> = {},
): Effect.Effect<AgentHost, BadInput, Scope.Scope> => {
  const path = join(dir, `${name}.ts`);
  writeFileSync(path, `export default { tasks: [1], run: async ({ episode, signal }) => { ${body} } };`);
  const setup = { path, registry: gamesUrl.href, presets: {} };
  return AgentThreads.make(setup, { threads: 1, seconds: 60, silentSeconds: 1, ...limits });
};

const play = (host: AgentHost, member: number) => Effect.result(host.play(order({ member }), new EpisodeAccount()));

/** The threads that start while `make` runs. */
const withThreads = Effect.fnUntraced(function* <A, E, R>(make: Effect.Effect<A, E, R>) {
  const threads: Worker[] = [];
  const started = (thread: Worker): void => void threads.push(thread);
  process.on("worker", started);
  const opened = yield* Effect.ensuring(
    make,
    Effect.sync(() => process.off("worker", started)),
  );
  return [opened, threads] as const;
});

const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> => Effect.runPromise(Effect.scoped(effect));

const most = 40;

/** Member 0 blocks its thread for good. */
const blocking = "if (episode.member === 0) for (;;); return { reward: episode.member };";

/** Members 0 to 3 say that they wait, and end when the test says so. */
const waiting = `
  if (episode.member < 4) {
    const go = new BroadcastChannel("threads-go");
    const released = new Promise((resolve) => { go.onmessage = resolve; });
    new BroadcastChannel("threads-waiting").postMessage(episode.member);
    await released;
  }
  return { reward: episode.member };`;

describe("threads of an agent", { timeout: patience }, () => {
  it("are replaced where one stays blocked behind an episode that was given up", async () => {
    const results = await run(
      Effect.gen(function* () {
        const host = yield* hostOf("stuck", blocking, { seconds: 0.5 });
        const results: Result.Result<AgentResult, HostFailure>[] = [];
        do {
          results.push(yield* play(host, results.length));
        } while (results.length < most && results.at(-1)?._tag === "Failure");
        return results;
      }),
    );
    expect(results[0]).toMatchObject({ failure: { reason: "agent_timeout" } });
    expect(results.at(-1)).toMatchObject({ success: { rewards: { whole: results.length - 1 } } });
  });

  /** Loses the thread of members 0 and 2, of two threads, once members 1 and 3 wait in the other one. */
  const losing = async (body: string, silentSeconds: number, lose: (thread: Worker | undefined) => void) => {
    const [go, waits] = ["threads-go", "threads-waiting"].map((name) => new BroadcastChannel(name));
    const others = new Set([1, 3]);
    const othersWait = new Promise<void>((resolve) => {
      waits!.onmessage = ({ data }) => {
        others.delete(Number(data));
        if (others.size === 0) resolve();
      };
    });
    const playing = Effect.gen(function* () {
      const [host, [thread]] = yield* withThreads(hostOf("lost", body, { threads: 2, silentSeconds }));
      // Each member goes to the thread with the fewest episodes, the first one among equals.
      const members = [0, 1, 2, 3].map((member) => Fiber.join(Effect.runFork(play(host, member))));
      yield* Effect.promise(() => othersWait);
      lose(thread);
      const lost = yield* Effect.all([members[0]!, members[2]!]);
      go!.postMessage("go");
      return { lost, others: yield* Effect.all([members[1]!, members[3]!]), next: yield* play(host, 5) };
    });
    try {
      return await run(playing);
    } finally {
      go!.close();
      waits!.close();
    }
  };

  it.each([
    ["blocks", `if (episode.member === 0) for (;;); ${waiting}`, 2, () => undefined, "its thread was blocked for 2 s"],
    ["dies", waiting, 30, (thread: Worker | undefined) => void thread?.terminate(), "its thread ended"],
  ])("lose the episodes of one that %s, and no others", async (_, body, silentSeconds, lose, message) => {
    const { lost, next, others } = await losing(body, silentSeconds, lose);
    const failure = { failure: { reason: "agent_crashed", message } };
    expect(lost).toMatchObject([failure, failure]);
    expect(others).toMatchObject([1, 3].map((whole) => ({ success: { rewards: { whole } } })));
    expect(next).toMatchObject({ success: { rewards: { whole: 5 } } });
  });

  it("go on where an agent ends the process, which costs its episode alone", async () => {
    const results = await run(
      Effect.gen(function* () {
        const host = yield* hostOf(
          "exits",
          "if (episode.member === 0) process.exit(0); return { reward: episode.member };",
        );
        return yield* Effect.all([play(host, 0), play(host, 1)], { concurrency: "unbounded" });
      }),
    );
    expect(results).toMatchObject([
      {
        failure: { reason: "agent_error", message: expect.stringContaining("process.exit(0) would end the whole run") },
      },
      { success: { rewards: { whole: 1 } } },
    ]);
  });
});
