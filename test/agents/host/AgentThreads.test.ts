/** Threads of a module's agent, over real threads and real time: the thresholds are short, and a busy machine changes no result. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, type Result, type Scope } from "effect";
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

/** A host of one thread; member 0 of a group blocks it for good. */
const blockedHost = (): Effect.Effect<AgentHost, BadInput, Scope.Scope> => {
  const path = join(dir, "blocked.ts");
  writeFileSync(
    path,
    `export default {
      tasks: [1],
      run: ({ episode }) => {
        if (episode.member === 0) for (;;);
        return { reward: episode.member };
      },
    };`,
  );
  const setup = { path, registry: gamesUrl.href, presets: {} };
  return AgentThreads.make(setup, { threads: 1, seconds: 0.5, silentSeconds: 1 });
};

const most = 40;

describe("threads of an agent", { timeout: patience }, () => {
  it("are replaced where one stays blocked behind an episode that was given up", async () => {
    const results = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const host = yield* blockedHost();
          const results: Result.Result<AgentResult, HostFailure>[] = [];
          do {
            results.push(yield* Effect.result(host.play(order({ member: results.length }), new EpisodeAccount())));
          } while (results.length < most && results.at(-1)?._tag === "Failure");
          return results;
        }),
      ),
    );
    expect(results[0]).toMatchObject({ failure: { reason: "agent_timeout" } });
    expect(results.at(-1)).toMatchObject({ success: { rewards: { whole: results.length - 1 } } });
  });
});
