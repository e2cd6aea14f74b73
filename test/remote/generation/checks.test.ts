/** Checks of a server before the run. Each refusal is one message that says how to start the server. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import type { VllmOptions } from "./fakeVllm.ts";
import { expectRefused, fake, scoresOf, serversConfig, startGenerator, vocabSize } from "./startGenerator.ts";

const unfit: ReadonlyArray<readonly [what: string, options: Partial<VllmOptions>, message: RegExp]> = [
  ["its version is too old", { version: "0.11.2" }, /vLLM 0\.11\.2 is too old; nearest: 0\.32/],
  [
    "dev mode is off",
    { devMode: false },
    /it takes no new weights; start it with VLLM_SERVER_DEV_MODE=1 in its environment/,
  ],
  ["it takes no ids", { scaleOut: false }, /it does not take token ids; start it with --enable-scale-out/],
  [
    "its sequences are too short",
    { maxModelLen: 128 },
    /128 tokens at most, and rollout\.max_model_len is 256; start it with --max-model-len 256/,
  ],
  [
    "its vocabulary is smaller",
    { vocabSize: vocabSize - 10 },
    /it serves another model: it does not take id 635 of a vocabulary of 636/,
  ],
  [
    "its vocabulary is larger",
    { vocabSize: vocabSize + 10 },
    /it serves another model: its vocabulary is larger than ours of 636/,
  ],
  ["its tokenizer is another", { tokenize: (text) => Array.from(text, () => 1) }, /its tokenizer is another/],
  ["its log-probabilities are raw", { processed: false }, /start it with --logprobs-mode processed_logprobs/],
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

describe("a server is refused before the run where", () => {
  for (const [what, options, message] of unfit) {
    it.live(what, () =>
      Effect.gen(function* () {
        const server = yield* fake(options);
        yield* expectRefused(server, serversConfig([server.url]), message);
        // The server was given no weights.
        expect(server.adopted.length).toBeLessThanOrEqual(1);
      }),
    );
  }

  it.live("it serves no model of the name", () =>
    Effect.gen(function* () {
      const server = yield* fake({ model: "qwen" });
      const { message } = yield* Effect.flip(startGenerator(serversConfig([server.url], { model: "llama" })));
      expect(message).toContain('it serves no model "llama"; set model.generator.model to one of: qwen');
    }),
  );

  it.live("none is there, with the command that starts one", () =>
    Effect.gen(function* () {
      const server = yield* fake();
      yield* Effect.promise(server.die);
      const { message } = yield* Effect.flip(startGenerator(serversConfig([server.url])));
      expect(message).toContain(`no server answers: ${server.url}: the connection is refused; start one with: `);
      expect(message).toContain(
        "VLLM_SERVER_DEV_MODE=1 vllm serve config/models/nano --logprobs-mode processed_logprobs",
      );
    }),
  );

  it.live("the environment has no key", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        startGenerator(serversConfig(["http://127.0.0.1:9"], { api_key_env: "MILLRACE_NO_SUCH_KEY" })),
      );
      expect(message).toBe(
        "model.generator.api_key_env: MILLRACE_NO_SUCH_KEY: the environment has no such variable, or it is empty",
      );
    }),
  );
});

describe("a server is taken", () => {
  it.live("with a key, which no message and no body holds", () =>
    Effect.gen(function* () {
      const name = "MILLRACE_TEST_KEY";
      process.env[name] = "sesame";
      const server = yield* fake({ key: "sesame" });
      yield* Effect.ensuring(
        startGenerator(serversConfig([server.url], { api_key_env: name })),
        Effect.sync(() => delete process.env[name]),
      );
      expect(JSON.stringify(server.received.map(({ body, path }) => [path, body]))).not.toContain("sesame");
    }),
  );

  it.live("while another does not answer: that one is asked again", () =>
    Effect.gen(function* () {
      const dead = yield* fake();
      const server = yield* fake();
      yield* Effect.promise(dead.die);
      const { generator, changes } = yield* startGenerator(serversConfig([dead.url, server.url]));
      expect(yield* generator.gauges).toMatchObject({ slots: 8 });
      yield* Effect.sleep(50);
      expect(changes.map(({ name, state }) => [name, state._tag])).toEqual([
        [server.url, "Up"],
        [dead.url, "Retrying"],
      ]);
    }),
  );

  it.live("that another run has left paused", () =>
    Effect.gen(function* () {
      const server = yield* fake();
      server.paused = true;
      yield* startGenerator(serversConfig([server.url]));
      expect(server.paused).toBe(false);
    }),
  );

  it.live("on the CPU without seeds of requests, which end its engine", () =>
    Effect.gen(function* () {
      const [cpu, cuda] = [yield* fake({ device: "cpu" }), yield* fake()];
      const seeds: unknown[] = [];
      for (const server of [cpu, cuda]) {
        const { generator } = yield* startGenerator(serversConfig([server.url]));
        yield* generator.generate({
          sequence: 1,
          append: Int32Array.of(5, 6),
          sharedPrefix: 0,
          maxTokens: 2,
          sampling: { temperature: 1, topK: -1, topP: 1 },
          key: { seed: 1, purpose: "sampling", counters: [1] },
          pin: null,
        });
        const params = server.received.at(-1)?.body.sampling_params;
        seeds.push(typeof params === "object" && params !== null && "seed" in params);
      }
      expect(seeds).toEqual([false, true]);
    }),
  );
});
