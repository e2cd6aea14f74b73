/** Answers of a real vLLM 0.32, recorded by record.ts, as our dialect reads them. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as Channel from "../../../src/remote/generation/Channel.ts";
import type { ServerContext, ServerRequest, ServerRequirements } from "../../../src/remote/generation/Dialect.ts";
import { vllm } from "../../../src/remote/generation/vllm.ts";
import { listening } from "../../httpStandIn.ts";
import recorded from "./recorded/vllm-0.32.json" with { type: "json" };

type Recorded = typeof recorded.generated;

/** A server that answers each path with what was recorded of it. */
const replayed = Effect.fnUntraced(function* (answers: Readonly<Record<string, Recorded>>) {
  const { url } = yield* Effect.acquireRelease(
    Effect.promise(() =>
      listening(({ path }, response) => {
        const { body, status } = answers[path.split("?")[0] ?? ""] ?? { status: 404, body: "{}" };
        response.writeHead(status, { "content-type": "application/json" });
        response.end(body);
      }),
    ),
    ({ die }) => Effect.promise(die),
  );
  return Channel.make({ url, key: null, timeoutMs: 5_000 });
});

const requirements: ServerRequirements = {
  model: "",
  vocabSize: 636,
  positions: 512,
  kind: "adapter",
  rank: 8,
  text: "Up || Down",
  ids: Int32Array.of(277, 265, 278),
  probe: { ids: Int32Array.of(277), lengths: [1] },
};

const request: ServerRequest = {
  id: "1",
  ids: Int32Array.of(10, 20, 30),
  maxTokens: 4,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  seed: null,
  stops: [],
  stopIds: [],
  version: 0,
  cacheOf: 0,
};

const tokens = "/inference/v1/generate";
const over = (answer: Recorded, kind: ServerRequirements["kind"] = "adapter") =>
  Effect.map(
    replayed({ [tokens]: answer, "/metrics": recorded.metrics, "/weight_info": recorded.weightInfo }),
    (channel): ServerContext => ({ channel, model: "m", run: "r", requirements: { ...requirements, kind } }),
  );

describe("a recorded vLLM", () => {
  it.live("gives ids with their log-probabilities", () =>
    Effect.gen(function* () {
      const { finish, ids, mu, versions } = yield* vllm.generate(yield* over(recorded.generated), request);
      expect([finish, ids.length, mu.length, Array.from(versions)]).toEqual(["length", 4, 4, [0, 0, 0, 0]]);
      expect(mu.every((value) => value < 0 && value > -20)).toBe(true);
    }),
  );

  it.live("that another run has given weights has none of ours, and not those of its start", () =>
    Effect.gen(function* () {
      const server = yield* over(recorded.generated, "full");
      expect(yield* Effect.flip(vllm.generate(server, request))).toMatchObject({ reason: "forgotten" });
      expect([yield* vllm.hasStartingWeights(server.channel), yield* vllm.hasVersion(server, 0)]).toEqual([
        false,
        false,
      ]);
    }),
  );

  it.live("names the likeliest tokens", () =>
    Effect.gen(function* () {
      const found = yield* vllm.likeliestTokens(yield* over(recorded.likeliest), 0, request.ids, 0.5);
      expect(found.size).toBeGreaterThanOrEqual(5);
      expect([...found.values()].reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThanOrEqual(1);
    }),
  );

  it.live.each([
    ["an id outside its vocabulary", recorded.outOfVocabulary],
    ["a prompt that is too long", recorded.tooLong],
  ] as const)("refuses %s for good", ([, answer]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(vllm.generate(yield* over(answer, "full"), request));
      expect(failure.reason).toBe("rejected");
    }),
  );

  it.live("tells its load", () =>
    Effect.gen(function* () {
      const { channel } = yield* over(recorded.generated);
      expect(yield* vllm.fetchLoad(channel)).toMatchObject({
        running: expect.any(Number),
        waiting: 0,
        cache: expect.any(Number),
      });
    }),
  );

  it.live("passes the checks but for the larger vocabulary that every id is accepted of here", () =>
    Effect.gen(function* () {
      const channel = yield* replayed({
        "/version": recorded.version,
        "/v1/models": recorded.models,
        "/is_paused": recorded.isPaused,
        "/tokenize": recorded.tokenize,
        [tokens]: recorded.generated,
      });
      const { message, reason } = yield* Effect.flip(vllm.check(channel, { ...requirements, kind: "full" }));
      expect([reason, message]).toEqual([
        "unfit",
        expect.stringContaining("its vocabulary is larger than ours of 636"),
      ]);
    }),
  );
});
