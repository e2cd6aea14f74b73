/** A server set under a wall clock that is set back or forward: deadlines ignore it, and reports show it. */
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it } from "@effect/vitest";
import { Clock, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import type { ServerChange } from "../../../src/domain/Server.ts";
import * as Channel from "../../../src/remote/generation/Channel.ts";
import type { Dialect, ServerRequirements } from "../../../src/remote/generation/Dialect.ts";
import { PublishedVersions } from "../../../src/remote/generation/PublishedVersions.ts";
import { serverFailure } from "../../../src/remote/generation/ServerFailure.ts";
import { ServerHandle } from "../../../src/remote/generation/ServerHandle.ts";
import { ServerSet } from "../../../src/remote/generation/ServerSet.ts";
import type { Publisher } from "../../../src/remote/weights/Publisher.ts";
import { HOUR_MS, steppedClock } from "../../steppedClock.ts";

/** A server that is well, and too busy for any request. */
const busy: Dialect = {
  pinsVersions: () => false,
  check: () => Effect.succeed({ model: "m", positions: 64, concurrency: 1, takesSeeds: true, program: "busy 1" }),
  generate: () => Effect.fail(serverFailure("busy", "it is busy")),
  likeliestTokens: () => Effect.die("there is nothing to compare"),
  temperedFlag: "",
  hasStartingWeights: () => Effect.succeed(true),
  hasVersion: () => Effect.succeed(true),
  adopt: () => Effect.void,
  unload: () => Effect.void,
  fetchLoad: () => Effect.succeed({}),
};

const requirements: ServerRequirements = {
  model: "",
  vocabSize: 8,
  positions: 64,
  kind: "full",
  rank: 0,
  text: "",
  ids: Int32Array.of(1),
  probe: { ids: Int32Array.of(1), lengths: [1] },
};

const publisherOfOne = (): Publisher => ({
  port: new MessageChannel().port1,
  current: () => ({ version: 0, kind: "full", folder: "", scores: null }),
  awaitNewer: () => Effect.never,
  retain: () => Effect.succeed(true),
  died: Effect.never,
});

const ask = {
  id: "a",
  ids: Int32Array.of(1),
  maxTokens: 1,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  seed: null,
  stops: [],
  stopIds: [],
  cacheOf: null,
};

describe("a server that is busy without an end", () => {
  it.effect.each([
    ["as it is", 0],
    ["set back an hour", -HOUR_MS],
    ["set forward an hour", HOUR_MS],
  ] as const)("fails its request after the same time with a wall clock that is %s", ([_, stepMs]) =>
    Effect.gen(function* () {
      const time = yield* Clock.Clock;
      const { clock, step } = steppedClock(time);
      const changes: ServerChange[] = [];
      const publisher = publisherOfOne();
      const channel = Channel.make({ url: "http://busy", key: null, timeoutMs: 1_000 });
      const member = new ServerHandle({
        dialect: busy,
        channel,
        requirements: requirements,
        run: "r",
        tolerance: 1,
        concurrency: 1,
      });
      const servers = new ServerSet(
        {
          servers: [member],
          publisher,
          pinsVersions: false,
          tell: (change) => void changes.push(change),
          downDeadlineMs: 120_000,
          advice: "",
        },
        yield* PublishedVersions.make(publisher),
        yield* Effect.scope,
      );
      const asking = Effect.gen(function* () {
        yield* servers.join(0);
        yield* servers.start(new Map());
        return yield* Effect.flip(servers.request(1, ask, null));
      });
      const fiber = yield* Effect.forkChild(Effect.provideService(asking, Clock.Clock, clock));
      yield* TestClock.adjust("20 seconds");
      step(stepMs);
      yield* TestClock.adjust("20 minutes");
      expect(fiber.pollUnsafe()).toBeDefined();
      expect(yield* Fiber.join(fiber)).toMatchObject({ reason: "session_failed" });
      const retrying = changes.flatMap(({ state }) => (state._tag === "Retrying" ? [state] : []));
      expect(retrying.map(({ attempt }) => attempt)).toEqual(retrying.map((_, i) => i + 1));
      // It is asked for 120 s, with waits of 1, 2, 4, 8, 16 and then 30 s, and ten times more.
      expect(retrying).toHaveLength(18);
      expect(new Set(retrying.map(({ since }) => since)).size).toBe(1);
      // Reports use the wall clock of the moment.
      const last = retrying.at(-1);
      expect((last?.nextAt ?? 0) - stepMs).toBeLessThan(time.currentTimeMillisUnsafe());
    }),
  );
});
