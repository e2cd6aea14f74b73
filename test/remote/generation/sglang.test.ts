/** A policy over scripted SGLang servers: the same promises as over vLLM's, and SGLang's own forms of answers. */
import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import * as Channel from "../../../src/remote/generation/Channel.ts";
import type { ServerContext, ServerRequest, ServerRequirements } from "../../../src/remote/generation/Dialect.ts";
import { sglang } from "../../../src/remote/generation/sglang.ts";
import { json } from "../../httpStandIn.ts";
import type { FakeServer, Script } from "./fakeServer.ts";
import { aborted, type SglangOptions } from "./fakeSglang.ts";
import {
  expectRefused,
  model,
  requestOf,
  scoresOf,
  serversConfig,
  sglangFake,
  startGenerator,
  vocabSize,
} from "./startGenerator.ts";

const configured = (urls: readonly string[], changes: Readonly<Record<string, string | number>> = {}) =>
  serversConfig(urls, { engine: "sglang", ...changes });

const [stopId = -1] = model.stopIds;
const paths = ({ received }: FakeServer) => received.map(({ path }) => path);
/** The bodies of requests for tokens behind `length` ids or more. */
const requestBodies = ({ received }: FakeServer, length = 2) =>
  received.flatMap(({ body, path }) =>
    path === "/generate" && Array.isArray(body.input_ids) && body.input_ids.length >= length && !body.top_logprobs_num
      ? [body]
      : [],
  );

describe("a policy over an SGLang server", () => {
  it.live("sends the whole history, and a reply is what was sampled, token by token", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({
        script: () => ({ ids: [10, 11, stopId], logprobs: [-0.5, -1.5, -0.25], finish: "stop" }),
      });
      const { generator } = yield* startGenerator(configured([server.url]));
      const first = yield* generator.generate(requestOf(1, [5, 6]));
      expect(first).toEqual({
        ids: Int32Array.of(10, 11, stopId),
        mu: Float32Array.of(-0.5, -1.5, -0.25),
        versions: Int32Array.of(0, 0, 0),
        entropies: Float32Array.of(0.5, 1.5, 0.25),
        finish: "stop",
      });
      yield* generator.generate(requestOf(1, [7, 8]));
      expect(requestBodies(server).map(({ input_ids }) => input_ids)).toEqual([
        [5, 6],
        [5, 6, 10, 11, stopId, 7, 8],
      ]);
      expect(yield* generator.gauges).toMatchObject({ version: 0, slots: 8, active: 0, idle: 1, sampledTokens: 6 });
    }),
  );

  it.live("asks for the distribution that it counts on, ended by its own stops alone", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake();
      const { generator } = yield* startGenerator(configured([server.url]));
      const sampling = { temperature: 0.7, topK: -1, topP: 1 };
      yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 3, sampling }));
      const [body] = requestBodies(server);
      expect(body).toMatchObject({
        return_logprob: true,
        sampling_params: {
          max_new_tokens: 3,
          temperature: 0.7,
          top_k: -1,
          top_p: 1,
          ignore_eos: true,
          stop_token_ids: [...model.stopIds],
          stop: ["</answer>"],
          no_stop_trim: true,
          skip_special_tokens: false,
        },
      });
      expect(body).toHaveProperty("rid");
      expect(body).not.toHaveProperty("lora_path");
      expect(body).toHaveProperty("sampling_params.sampling_seed");
    }),
  );

  it.live("exchanges weights between a pause that keeps requests and a continue", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake();
      const { generator, send } = yield* startGenerator(configured([server.url]));
      const before = server.received.length;
      send(1);
      yield* generator.awaitVersion(1);
      const swap = server.received.slice(before).filter(({ path }) => path !== "/generate");
      expect(swap.map(({ path }) => path)).toEqual([
        "/pause_generation",
        "/update_weights_from_disk",
        "/continue_generation",
      ]);
      expect(swap[0]?.body).toEqual({ mode: "in_place" });
      expect(swap[1]?.body).toMatchObject({ abort_all_requests: false, flush_cache: false });
      expect(swap[1]?.body.model_path).toMatch(/v1$/);
      expect(server.adopted.map((label) => label.replace(/.*-/, ""))).toEqual(["v0", "v1"]);
      expect((yield* generator.generate(requestOf(1, [5, 6]))).versions[0]).toBe(1);
    }),
  );

  it.live("does not share a prefix with one of older weights", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake();
      const { generator, send } = yield* startGenerator(configured([server.url]));
      yield* generator.generate(requestOf(1, [5, 6]));
      send(1);
      yield* generator.awaitVersion(1);
      yield* generator.generate(requestOf(2, [5, 6]));
      // A sequence that has begun keeps its caches.
      yield* generator.generate(requestOf(1, [7]));
      const keys = requestBodies(server).map(({ extra_key }) => String(extra_key).replace(/.*-/, ""));
      expect(keys).toEqual(["v0", "v1", "v0"]);
    }),
  );

  it.live("goes on after an exchange that fails, and lets no request wait in a pause", () =>
    Effect.gen(function* () {
      const failing = yield* sglangFake();
      const other = yield* sglangFake();
      const { generator, send } = yield* startGenerator(configured([failing.url, other.url]));
      failing.refusesWeights = "no space left";
      send(1);
      yield* generator.awaitVersion(1);
      expect(failing.paused).toBe(false);
      expect(failing.adopted).toHaveLength(1);
      expect((yield* generator.generate(requestOf(1, [5, 6]))).versions[0]).toBe(1);
    }),
  );

  it.live(
    "counts a reply that new weights came into as of the older ones, where one version is named for all of it",
    () =>
      Effect.gen(function* () {
        const requested = Deferred.makeUnsafe<void>();
        let finish = () => {};
        const server = yield* sglangFake({
          script: ({ ids, label }, response) => {
            finish = () => json(response, 200, ended(ids, label.replace(/\d+$/, "1")));
            Deferred.doneUnsafe(requested, Effect.void);
            return "handled";
          },
        });
        const { generator, send } = yield* startGenerator(configured([server.url]));
        const reply = yield* Effect.forkChild(generator.generate(requestOf(1, [5, 6])), { startImmediately: true });
        yield* Deferred.await(requested);
        send(1);
        yield* generator.awaitVersion(1);
        finish();
        expect(new Set((yield* Fiber.join(reply)).versions)).toEqual(new Set([0]));
      }),
  );

  it.live("ends the request of a caller that is interrupted", () =>
    Effect.gen(function* () {
      const requested = Deferred.makeUnsafe<void>();
      const left = Deferred.makeUnsafe<void>();
      const server = yield* sglangFake({
        script: (_, response) => {
          response.on("close", () => Deferred.doneUnsafe(left, Effect.void));
          Deferred.doneUnsafe(requested, Effect.void);
          return "handled";
        },
      });
      const { generator } = yield* startGenerator(configured([server.url]));
      const endless = yield* Effect.forkChild(generator.generate(requestOf(1, [7, 8])), { startImmediately: true });
      yield* Deferred.await(requested);
      yield* Fiber.interrupt(endless);
      yield* Deferred.await(left);
      expect(yield* generator.gauges).toMatchObject({ active: 0 });
    }),
  );

  it.live("draws greedily for certain", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({
        script: () => ({ ids: [10, stopId], logprobs: [-0.5, -0.1], finish: "stop" }),
      });
      const { generator } = yield* startGenerator(configured([server.url]));
      const greedy = { temperature: 0, topK: -1, topP: 1 };
      const { mu } = yield* generator.generate(requestOf(1, [5, 6], { sampling: greedy }));
      expect(Array.from(mu)).toEqual([0, 0]);
    }),
  );
});

/** An answer of four tokens that names one version. */
const ended = (ids: readonly number[], label: string) => ({
  text: "",
  output_ids: [1, 2, 3, stopId],
  meta_info: {
    finish_reason: { type: "stop", matched: stopId },
    prompt_tokens: ids.length,
    weight_version: label,
    output_token_logprobs: [1, 2, 3, stopId].map((id) => [-1, id, null]),
  },
});

const answers =
  (body: unknown, status = 200): Script =>
  ({ nth }, response) => {
    if (nth > 0) return undefined;
    json(response, status, body);
    return "handled";
  };

const sampled = (meta: object, output_ids: readonly unknown[] = [1, 2]) => ({
  output_ids,
  meta_info: { finish_reason: { type: "length", length: 2 }, ...meta },
});
const logprobs = (...values: readonly (number | null)[]) => values.map((value, i) => [value, i + 1, null]);
const ours = (label: string) => ({ weight_version: label });

describe("an answer that cannot be used is asked again", () => {
  const wrong: ReadonlyArray<readonly [what: string, script: Script]> = [
    ["of a request that was ended", () => ({ ids: [1], finish: "abort" })],
    ["of a request that was ended before its first token", answers(aborted)],
    ["with an id outside the vocabulary", ({ nth }) => (nth === 0 ? { ids: [vocabSize] } : undefined)],
    ["with a log-probability above 0", ({ nth }) => (nth === 0 ? { ids: [1], logprobs: [0.5] } : undefined)],
    ["without tokens", ({ nth }) => (nth === 0 ? { ids: [] } : undefined)],
    [
      "with more tokens than were asked for",
      ({ maxTokens, nth }) => (nth === 0 ? { ids: Array.from({ length: maxTokens + 1 }, () => 1) } : undefined),
    ],
    [
      "with log-probabilities of other tokens",
      ({ label, nth }, response) => {
        if (nth > 0) return undefined;
        json(response, 200, sampled({ ...ours(label), output_token_logprobs: logprobs(-1, -1) }, [1, 3]));
        return "handled";
      },
    ],
    [
      "with fewer log-probabilities than tokens",
      ({ label, nth }, response) => {
        if (nth > 0) return undefined;
        json(response, 200, sampled({ ...ours(label), output_token_logprobs: logprobs(-1) }));
        return "handled";
      },
    ],
    [
      "without log-probabilities",
      ({ label, nth }, response) => {
        if (nth > 0) return undefined;
        json(response, 200, sampled(ours(label)));
        return "handled";
      },
    ],
    ["that ended by what is not known", ({ nth }) => (nth === 0 ? { ids: [1], finish: "tired" } : undefined)],
    [
      "with spans that leave tokens out",
      ({ label, nth }) => (nth === 0 ? { ids: [1, 2], spans: [{ version: label, start: 0, end: 1 }] } : undefined),
    ],
    ["of another form", answers({ text: "Hello" })],
    [
      "that is a page of HTML",
      ({ nth }, response) => {
        if (nth > 0) return undefined;
        response.end("<html>maintenance</html>");
        return "handled";
      },
    ],
    ["with status 500", answers({ error: { message: "engine trouble" } }, 500)],
  ];
  for (const [what, script] of wrong) {
    it.live(what, () =>
      Effect.gen(function* () {
        let met = false;
        const once: Script = (request, response, fake) => {
          if (met) return undefined;
          met = true;
          return script(request, response, fake);
        };
        const server = yield* sglangFake({ script: once });
        const { generator } = yield* startGenerator(configured([server.url]));
        const { ids, versions } = yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 3 }));
        expect([Array.from(ids), Array.from(versions)]).toEqual([
          [2, 3, 4],
          [0, 0, 0],
        ]);
        expect(requestBodies(server)).toHaveLength(2);
      }),
    );
  }

  it.live("unless its log-probabilities are no numbers", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({ script: () => ({ ids: [1], logprobs: [null] }) });
      const { generator } = yield* startGenerator(configured([server.url]));
      expect(yield* Effect.flip(generator.generate(requestOf(1, [5, 6])))).toMatchObject({ reason: "not_finite" });
    }),
  );

  it.live("of weights that another run has given it, after it was given ours", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({
        script: ({ nth }) =>
          nth === 0 ? { ids: [1], spans: [{ version: "millrace-other-v7", start: 0, end: 1 }] } : undefined,
      });
      const { generator } = yield* startGenerator(configured([server.url]));
      const { versions } = yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 2 }));
      expect(Array.from(versions)).toEqual([0, 0]);
    }),
  );
});

const unfit: ReadonlyArray<readonly [what: string, options: Partial<SglangOptions>, message: RegExp]> = [
  ["it cannot pause", { pauses: false }, /it takes no new weights while it generates; nearest: SGLang 0\.5/],
  [
    "its sequences are too short",
    { maxModelLen: 128 },
    /128 tokens at most, and rollout\.max_model_len is 256; start it with --context-length 256/,
  ],
  [
    "its vocabulary is smaller",
    { vocabSize: vocabSize - 10 },
    /it serves another model: it does not take id 635 of a vocabulary of 636/,
  ],
  ["its tokenizer is another", { tokenize: (text) => Array.from(text, () => 1) }, /its tokenizer is another/],
  [
    "its log-probabilities are raw",
    { processed: false },
    /start it with no SGLANG_RETURN_ORIGINAL_LOGPROB in its environment/,
  ],
  [
    "it computes other numbers",
    { score: (label, length) => scoresOf(label, length).map((score, id) => score + (id < 5 ? 3 : 0)) },
    /lie [\d.]+ nats from ours on average, and model\.generator\.probe_tolerance allows 0\.05/,
  ],
  [
    "it asks for a key",
    { key: "sesame" },
    /status 401: Unauthorized; model\.generator\.api_key_env names the variable/,
  ],
];

describe("an SGLang server is refused before the run where", () => {
  for (const [what, options, message] of unfit) {
    it.live(what, () =>
      Effect.gen(function* () {
        const server = yield* sglangFake(options);
        yield* expectRefused(server, configured([server.url]), message);
      }),
    );
  }

  it.live("it serves no model of the name", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({ model: "qwen" });
      const { message } = yield* Effect.flip(startGenerator(configured([server.url], { model: "llama" })));
      expect(message).toContain('it serves no model "llama"; set model.generator.model to one of: qwen');
    }),
  );
});

describe("an SGLang server is taken", () => {
  it.live("where it is older, and has other names for what it tells of itself", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({ older: true });
      const { generator, send } = yield* startGenerator(configured([server.url]));
      send(1);
      yield* generator.awaitVersion(1);
      expect(paths(server)).toContain("/get_server_info");
      expect(paths(server)).toContain("/get_weight_version");
    }),
  );

  it.live("that another run has left paused, with the weights it gave it", () =>
    Effect.gen(function* () {
      const server = yield* sglangFake({ model: "qwen" });
      yield* Effect.scoped(startGenerator(configured([server.url], { model: "qwen" })));
      server.paused = true;
      // After new weights, the server calls its model by their folder.
      yield* startGenerator(configured([server.url], { model: "qwen" }));
      expect(server.paused).toBe(false);
      expect(server.adopted).toHaveLength(2);
    }),
  );
});

const requirements: ServerRequirements = {
  model: "",
  vocabSize,
  positions: 256,
  kind: "adapter",
  rank: 8,
  text: "Up",
  ids: model.tokenizer.encode("Up"),
  probe: { ids: Int32Array.of(2), lengths: [1] },
};
const ask: ServerRequest = {
  id: "1",
  ids: Int32Array.of(10, 20, 30),
  maxTokens: 4,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  seed: null,
  stops: [],
  stopIds: [],
  version: 3,
  cacheOf: 3,
};

/** A server whose versions are adapters. */
const withAdapters = Effect.fnUntraced(function* (options: Partial<SglangOptions> = {}) {
  const fake = yield* sglangFake({ lora: true, ...options });
  const channel = Channel.make({ url: fake.url, key: null, timeoutMs: 5_000 });
  const server: ServerContext = { channel, model: "m", run: "r", requirements };
  return { fake, server, published: { version: 3, kind: "adapter", folder: "/w/v3", scores: null } as const };
});

describe("adapters on an SGLang server", () => {
  it.live("are loaded by name, asked for by name, and let go", () =>
    Effect.gen(function* () {
      const { fake, published, server } = yield* withAdapters();
      expect(yield* sglang.hasVersion(server, 3)).toBe(false);
      yield* sglang.adopt(server, published);
      expect(yield* sglang.hasVersion(server, 3)).toBe(true);
      expect(fake.received.at(-2)?.body).toEqual({ lora_name: "r-v3", lora_path: "/w/v3" });
      const { versions } = yield* sglang.generate(server, ask);
      expect(fake.received.at(-1)?.body).toMatchObject({ lora_path: "r-v3", extra_key: "r-v3" });
      expect(Array.from(versions)).toEqual([3, 3, 3, 3]);
      yield* sglang.unload(server, 3);
      expect([...fake.adapters]).toEqual([]);
      expect(sglang.pinsVersions("adapter")).toBe(true);
    }),
  );

  it.live.each([false, true])("that are there already are taken as loaded (older server: %s)", (older) =>
    Effect.gen(function* () {
      const { fake, published, server } = yield* withAdapters({ older });
      yield* sglang.adopt(server, published);
      yield* sglang.adopt(server, published);
      expect([...fake.adapters]).toEqual(["r-v3"]);
    }),
  );

  it.live("that it does not load are a failure with its words", () =>
    Effect.gen(function* () {
      const { fake, published, server } = yield* withAdapters();
      fake.refusesWeights = "rank 16 is above 8";
      const failure = yield* Effect.flip(sglang.adopt(server, published));
      expect(failure).toMatchObject({ reason: "away" });
      expect(failure.message).toContain("it does not load an adapter: status 400: rank 16 is above 8");
    }),
  );

  it.live("that a server started again does not have are forgotten, not refused", () =>
    Effect.gen(function* () {
      const { fake, published, server } = yield* withAdapters();
      yield* sglang.adopt(server, published);
      yield* Effect.promise(async () => {
        await fake.die();
        await fake.restart();
      });
      expect(yield* Effect.flip(sglang.generate(server, ask))).toMatchObject({ reason: "forgotten" });
    }),
  );

  it.live("leave a request that will never be taken refused", () =>
    Effect.gen(function* () {
      const { published, server } = yield* withAdapters();
      yield* sglang.adopt(server, published);
      const foreign = { ...ask, ids: Int32Array.of(1, vocabSize) };
      expect(yield* Effect.flip(sglang.generate(server, foreign))).toMatchObject({ reason: "rejected" });
    }),
  );

  it.live.each([
    [{ lora: false }, "it takes no adapters; start it with --enable-lora --max-lora-rank 8"],
    [{ maxLoraRank: 4 }, "its adapters have rank 4 at most; start it with --enable-lora --max-lora-rank 8"],
  ] as const)("are refused by a server without room for them: %o", ([options, message]) =>
    Effect.gen(function* () {
      const { server } = yield* withAdapters(options);
      const failure = yield* Effect.flip(sglang.check(server.channel, requirements));
      expect(failure).toMatchObject({ reason: "unfit", message: expect.stringContaining(message) });
    }),
  );
});

describe("what an SGLang server says of itself", () => {
  it.live("is its program and how many requests it works on", () =>
    Effect.gen(function* () {
      const { server } = yield* withAdapters({ maxNumSeqs: 48 });
      expect(yield* sglang.check(server.channel, requirements)).toEqual({
        model: "m",
        positions: 512,
        concurrency: 48,
        takesSeeds: true,
        program: "SGLang 0.5.8",
      });
    }),
  );

  it.live("is its load, of all parts of it", () =>
    Effect.gen(function* () {
      const { fake, server } = yield* withAdapters();
      fake.metrics = [
        'sglang:num_running_reqs{model_name="m"} 3.0',
        'sglang:num_queue_reqs{model_name="m"} 2.0',
        'sglang:token_usage{model_name="m"} 0.25',
        'sglang:prompt_tokens_total{model_name="m"} 900.0',
        'sglang:cached_tokens_total{cache_source="device"} 300.0',
        'sglang:cached_tokens_total{cache_source="host"} 100.0',
      ].join("\n");
      expect(yield* sglang.fetchLoad(server.channel)).toEqual({
        running: 3,
        waiting: 2,
        cache: 0.25,
        promptTokens: 900,
        cachedTokens: 400,
      });
    }),
  );

  it.live("is nothing where it shows no counters", () =>
    Effect.gen(function* () {
      const { server } = yield* withAdapters();
      expect(yield* sglang.fetchLoad(server.channel)).toEqual({});
    }),
  );
});
