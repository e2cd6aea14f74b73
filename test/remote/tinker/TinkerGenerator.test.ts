/** The policy on a Tinker server: histories, ends of replies, versions, and what it refuses. */
import { describe, it } from "@effect/vitest";
import { Effect, Fiber, Result } from "effect";
import { expect } from "vitest";
import type { GenerateRequest } from "../../../src/generation/Policy.ts";
import * as TinkerGenerator from "../../../src/remote/tinker/TinkerGenerator.ts";
import { tiny, trainerOptions } from "../../learner/model.ts";
import { fakeTinker, json, type Script } from "./FakeTinker.ts";
import { clientAt } from "./remote.ts";

/** Answers a sample with these tokens; the first letter of an id is its text. */
const says =
  (tokens: readonly number[], logprobs: readonly number[] = tokens.map((_, i) => -0.5 - i)): Script =>
  ({ body, path }, response) => {
    if (path === "asample") return json(response, 200, { request_id: "sample" });
    if (path !== "retrieve_future" || body.request_id !== "sample") return false;
    return json(response, 200, { sequences: [{ tokens, logprobs, stop_reason: "length" }] });
  };

const letters = (id: number) => new TextEncoder().encode(String.fromCharCode(97 + id));

const generatorWith = Effect.fnUntraced(function* (script?: Script, sessions: "newest" | "snapshots" = "newest") {
  const server = yield* fakeTinker({ actor: trainerOptions.actor, ...(script === undefined ? {} : { script }) });
  const { matchers } = yield* Effect.promise(() => import("../../../src/model/tokenizer/StopMatcher.ts"));
  const generator = yield* TinkerGenerator.make({
    client: clientAt(server.url, { role: "generator" }),
    sessions,
    stopIds: new Set([1]),
    stops: matchers(["def"], letters),
    vocabSize: tiny.vocabSize,
    maxPositions: tiny.maxPositions,
    slots: 4,
  });
  const publish = (version: number) =>
    Effect.andThen(
      Effect.sync(() =>
        generator.ports[0]!.postMessage({ _tag: "weights", version, payload: { _tag: "remote", id: `s${version}` } }),
      ),
      generator.awaitVersion(version),
    );
  return { generator, publish, server };
});

const asking = (more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  sequence: 1,
  append: Int32Array.of(2, 3),
  sharedPrefix: 0,
  maxTokens: 6,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  key: { seed: 1, purpose: "sampling", counters: [1] },
  pin: null,
  ...more,
});

describe("a reply", () => {
  it.live.each([
    ["at an end token", [4, 5, 1, 6], [4, 5, 1], "stop"],
    ["in a stop sequence", [8, 3, 4, 5, 6, 7], [8, 3, 4, 5], "stop"],
    ["at its length", [4, 5, 6, 7, 8, 9], [4, 5, 6, 7, 8, 9], "length"],
  ] as const)("ends %s", ([_, tokens, kept, finish]) =>
    Effect.gen(function* () {
      const { generator, publish } = yield* generatorWith(says(tokens));
      yield* publish(3);
      const reply = yield* generator.generate(asking());
      expect([...reply.ids]).toEqual(kept);
      expect([...reply.mu]).toEqual(kept.map((_, i) => -0.5 - i));
      expect([...reply.entropies]).toEqual(kept.map((_, i) => 0.5 + i));
      expect(new Set(reply.versions)).toEqual(new Set([3]));
      expect(reply.finish).toBe(finish);
    }),
  );

  it.live("goes on from the whole history, replies as they were kept", () =>
    Effect.gen(function* () {
      const { generator, publish, server } = yield* generatorWith(says([4, 5, 1, 6]));
      yield* publish(0);
      yield* generator.generate(asking());
      yield* generator.generate(asking({ append: Int32Array.of(9) }));
      yield* generator.release(1);
      yield* generator.generate(asking({ append: Int32Array.of(7) }));
      const prompts = server.requestsTo("asample").map(({ body }) => body.prompt.chunks[0].tokens);
      expect(prompts).toEqual([[2, 3], [2, 3, 4, 5, 1, 9], [7]]);
      expect(server.requestsTo("asample")[0]?.body).toMatchObject({
        sampling_session_id: "s0",
        num_samples: 1,
        sampling_params: { max_tokens: 6, stop: [1], temperature: 1, top_k: -1, top_p: 1 },
      });
      expect(yield* generator.gauges).toMatchObject({ sampledTokens: 9, active: 0, idle: 1, version: 0 });
      // The server has sampled the tokens that were cut off, too.
      expect(generator.counts()).toEqual({ prompt: 9, sampled: 12, requests: 3 });
    }),
  );

  it.live.each([
    [[4, 19], undefined, /outside the vocabulary/],
    [[4, 5], [-1, 2], /no log-probability/],
    [[4, 5], [-1], /2 tokens have 1/],
    [[2, 2, 2, 2, 2, 2, 2], undefined, /7 tokens came, 6 were asked for/],
  ] as const)("that cannot be one fails the request: %#", ([tokens, logprobs, message]) =>
    Effect.gen(function* () {
      const { generator, publish } = yield* generatorWith(says(tokens, logprobs));
      yield* publish(0);
      const failure = yield* Effect.flip(generator.generate(asking()));
      expect(failure).toMatchObject({ reason: "session_failed", message: expect.stringMatching(message) });
      // The sequence is unchanged, and may be opened again.
      expect(yield* generator.gauges).toMatchObject({ active: 0, idle: 0 });
    }),
  );
});

describe("a version", () => {
  it.live("is waited for before the first reply", () =>
    Effect.gen(function* () {
      const { generator, publish, server } = yield* generatorWith(says([4, 1]));
      const waiting = yield* Effect.forkChild(generator.generate(asking()));
      yield* Effect.sleep("20 millis");
      expect(server.requestsTo("asample")).toEqual([]);
      yield* publish(5);
      expect((yield* Fiber.join(waiting)).versions[0]).toBe(5);
    }),
  );

  it.live("that is not the newest is sampled only where the server keeps snapshots", () =>
    Effect.gen(function* () {
      for (const sessions of ["newest", "snapshots"] as const) {
        const { generator, publish, server } = yield* generatorWith(says([4]), sessions);
        yield* publish(0);
        yield* publish(1);
        const result = yield* Effect.result(generator.generate(asking({ pin: 0 })));
        expect(Result.isSuccess(result)).toBe(sessions === "snapshots");
        // A snapshot is asked for once before it counts.
        expect(server.requestsTo("asample").map(({ body }) => body.sampling_session_id)).toEqual(
          sessions === "snapshots" ? ["s0", "s1", "s0"] : [],
        );
      }
    }),
  );
});

describe("a snapshot", () => {
  it.live("is asked for one token by itself, while others sample from the one before", () =>
    Effect.gen(function* () {
      let ready = false;
      const { generator, publish, server } = yield* generatorWith(({ body, nth, path }, response) => {
        if (path === "asample") return json(response, 200, { request_id: body.sampling_session_id });
        if (path !== "retrieve_future" || !["s0", "s1"].includes(body.request_id)) return false;
        if (body.request_id === "s1" && !ready) return json(response, 200, { type: "try_again", nth });
        return json(response, 200, { sequences: [{ tokens: [4], logprobs: [-1], stop_reason: "length" }] });
      }, "snapshots");
      yield* publish(0);
      const coming = yield* Effect.forkChild(publish(1), { startImmediately: true });
      yield* Effect.sleep("50 millis");
      expect((yield* generator.generate(asking())).versions[0]).toBe(0);
      ready = true;
      yield* Fiber.join(coming);
      expect((yield* generator.generate(asking({ sequence: 2 }))).versions[0]).toBe(1);
      const first = server.requestsTo("asample").find(({ body }) => body.sampling_session_id === "s1");
      expect(first?.body.sampling_params.max_tokens).toBe(1);
    }),
  );

  it.live("that the server cannot give ends the policy", () =>
    Effect.gen(function* () {
      const { generator, publish } = yield* generatorWith(
        ({ path }, response) => path === "asample" && json(response, 422, { detail: "no such session" }),
        "snapshots",
      );
      expect(yield* Effect.flip(publish(0))).toMatchObject({ message: expect.stringMatching(/no such session/) });
      expect(yield* Effect.flip(generator.died)).toMatchObject({ reason: "session_failed" });
    }),
  );
});

describe("a request", () => {
  it.live.each([
    [asking({ append: new Int32Array(0) }), /opens without a token/],
    [asking({ append: Int32Array.of(19) }), /outside the vocabulary/],
    [asking({ append: new Int32Array(65) }), /exceeds the model's 64 positions/],
    [asking({ maxTokens: 0 }), /maxTokens must be 1/],
  ] as const)("that cannot be answered is refused: %#", ([request, message]) =>
    Effect.gen(function* () {
      const { generator, publish, server } = yield* generatorWith(says([4, 1]));
      yield* publish(0);
      const failure = yield* Effect.flip(generator.generate(request));
      expect(failure).toMatchObject({ reason: "bad_request", message: expect.stringMatching(message) });
      expect(server.requestsTo("asample")).toEqual([]);
    }),
  );
});
