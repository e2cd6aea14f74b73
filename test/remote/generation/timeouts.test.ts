import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import type { Channel, ChannelRequest } from "../../../src/remote/generation/Channel.ts";
import type { ServerContext, ServerRequest } from "../../../src/remote/generation/Dialect.ts";
import { serverFailure } from "../../../src/remote/generation/ServerFailure.ts";
import { sglang } from "../../../src/remote/generation/sglang.ts";
import { vllm } from "../../../src/remote/generation/vllm.ts";

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

/** The requests of a dialect to a server that answers none. */
const recording = () => {
  const requests: ChannelRequest[] = [];
  const refuse = (request: ChannelRequest) =>
    Effect.suspend(() => {
      requests.push(request);
      return Effect.fail(serverFailure("away", "no answer"));
    });
  const channel: Channel = { name: "server", quote: () => "", send: refuse, requestDecoded: refuse, requestOk: refuse };
  const requirements = {
    model: "m",
    vocabSize: 64,
    positions: 32,
    kind: "full" as const,
    rank: 0,
    text: "",
    ids: Int32Array.of(1),
    probe: { ids: Int32Array.of(1), lengths: [1] },
  };
  const server: ServerContext = { channel, model: "m", run: "r", requirements };
  return { requests, server };
};

const published = { version: 1, kind: "full", folder: "/weights/v1", scores: null } as const;

describe.each([
  ["vLLM", vllm],
  ["SGLang", sglang],
] as const)("a request to %s", (_, dialect) => {
  it.effect("for tokens has the run file's timeout", () =>
    Effect.gen(function* () {
      const { requests, server } = recording();
      yield* Effect.flip(dialect.generate(server, request));
      yield* Effect.flip(dialect.likeliestTokens(server, 0, request.ids, 1));
      expect(requests.map(({ timeout }) => timeout)).toEqual(["tokens", "tokens"]);
    }),
  );

  it.effect("that pauses it for new weights has the timeout of loading", () =>
    Effect.gen(function* () {
      const { requests, server } = recording();
      yield* Effect.flip(dialect.adopt(server, published));
      expect(requests[0]?.timeout).toBe("loading");
    }),
  );
});
