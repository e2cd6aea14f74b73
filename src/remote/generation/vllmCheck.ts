/**
 * Checks that a vLLM server can generate for the run, in this order: its version, flags, model, vocabulary and tokenizer. Each refusal is
 * one sentence that says how to start the server.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { ServerFacts, ServerRequirements } from "./Dialect.ts";
import type { ServerFailure } from "./ServerFailure.ts";
import { checkLastId, checkModel, checkTokenizer, unfitServer } from "./sharedChecks.ts";

/** The first version whose answers say which weights sampled each token. */
const LEAST_VERSION = [0, 32] as const;

const Version = Schema.Struct({ version: Schema.String });
const Paused = Schema.Struct({ is_paused: Schema.Boolean });

/** The server's configuration as text; its form is undocumented. */
const ServerInfo = Schema.Struct({ vllm_config: Schema.Unknown });

type FromServer<A> = Effect.Effect<A, ServerFailure>;

/** "0.32.1" is [0, 32]. Undefined if the text is no version. */
const parseVersion = (version: string): readonly [number, number] | undefined => {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
};

const checkProgram = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<string, ServerFailure> {
  const reply = yield* channel.send({ method: "GET", path: "/version" });
  if (reply.status === 404) return yield* unfitServer(channel, "it is no vLLM server: it does not tell its version");
  const { version } = yield* channel.requestDecoded({ method: "GET", path: "/version" }, Version);
  const numbers = parseVersion(version);
  // A build from source has a version of its own, and is accepted.
  if (numbers !== undefined && numbers[0] === LEAST_VERSION[0] && numbers[1] > 0 && numbers[1] < LEAST_VERSION[1]) {
    return yield* unfitServer(channel, `vLLM ${version} is too old; nearest: ${LEAST_VERSION.join(".")}`);
  }
  return `vLLM ${version}`;
});

/** Checks the endpoints that change weights. A server that another run has left paused is resumed. */
const checkControls = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<void, ServerFailure> {
  const request = { method: "GET", path: "/is_paused" } as const;
  const reply = yield* channel.send(request);
  if (reply.status === 404 || reply.status === 405) {
    return yield* unfitServer(
      channel,
      "it takes no new weights; start it with VLLM_SERVER_DEV_MODE=1 in its environment",
    );
  }
  const { is_paused } = yield* channel.requestDecoded(request, Paused);
  if (is_paused) yield* channel.requestOk({ method: "POST", path: "/resume" });
});

/** Samples one token behind `ids`. */
const sampleToken = (channel: Channel, model: string, ids: readonly number[]) =>
  channel.send({
    method: "POST",
    path: "/inference/v1/generate",
    timeout: "tokens",
    json: { model, token_ids: ids, sampling_params: { max_tokens: 1, temperature: 1, logprobs: 0, ignore_eos: true } },
  });

const checkVocabulary = Effect.fnUntraced(function* (
  channel: Channel,
  model: string,
  requirements: ServerRequirements,
): Effect.fn.Return<void, ServerFailure> {
  const { vocabSize } = requirements;
  const last = yield* sampleToken(channel, model, [vocabSize - 1]);
  if (last.status === 403 || last.status === 404) {
    return yield* unfitServer(channel, "it does not take token ids; start it with --enable-scale-out");
  }
  yield* checkLastId(channel, requirements, last);
  const beyond = yield* sampleToken(channel, model, [vocabSize]);
  if (beyond.status !== 200) return;
  return yield* unfitServer(
    channel,
    `it serves another model: its vocabulary is larger than ours of ${vocabSize}; start it with the folder of model.path`,
  );
});

/** The endpoint refuses an empty name if it is there; a missing endpoint answers 404 or 405. */
const checkAdapters = Effect.fnUntraced(function* (
  channel: Channel,
  { rank }: ServerRequirements,
): Effect.fn.Return<void, ServerFailure> {
  const json = { lora_name: "", lora_path: "" };
  const reply = yield* channel.send({ method: "POST", path: "/v1/load_lora_adapter", json });
  if (reply.status === 404 || reply.status === 405) {
    const what = "start it with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 in its environment and with";
    return yield* unfitServer(channel, `it takes no adapters; ${what} --enable-lora --max-lora-rank ${rank}`);
  }
});

/** A number of the server's configuration; null if it is not found. */
const numberIn = (text: string, name: string): number | null => {
  const [, digits] = new RegExp(`["']?\\b${name}["']?\\s*[:=]\\s*(\\d+)`).exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
};

/** Returns the server's configuration; empty for builds that do not tell it. */
const fetchConfiguration = (channel: Channel): FromServer<string> =>
  Effect.catch(
    Effect.map(
      channel.requestDecoded({ method: "GET", path: "/server_info?config_format=json" }, ServerInfo),
      ({ vllm_config }) => (typeof vllm_config === "string" ? vllm_config : JSON.stringify(vllm_config)),
    ),
    () => Effect.succeed(""),
  );

export const check = Effect.fnUntraced(function* (
  channel: Channel,
  requirements: ServerRequirements,
): Effect.fn.Return<ServerFacts, ServerFailure> {
  const version = yield* checkProgram(channel);
  const { model, positions } = yield* checkModel(channel, requirements, "--max-model-len");
  yield* checkControls(channel);
  yield* checkVocabulary(channel, model, requirements);
  yield* checkTokenizer(channel, requirements, { model });
  if (requirements.kind === "adapter") yield* checkAdapters(channel, requirements);
  const text = yield* fetchConfiguration(channel);
  // On the CPU, the engine of 0.32 dies over a prompt that it takes in two pieces under a seed.
  const takesSeeds = !/device_config[^{]*\{[^}]*cpu/.test(text);
  return { model, positions, concurrency: numberIn(text, "max_num_seqs"), takesSeeds, program: version };
});
