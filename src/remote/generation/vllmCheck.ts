/**
 * Whether a vLLM server can generate for the run: its version, its flags, its model, its vocabulary and its tokenizer, asked in this order. Each
 * refusal is one sentence that says what to start it with.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { Facts, Wanted } from "./Dialect.ts";
import { sameTokenizer, served, takesLastId, unfit } from "./fitness.ts";
import type { ServerFailure } from "./ServerFailure.ts";

/** The first version whose answers say which weights sampled each token. */
const LEAST = [0, 32] as const;

const Version = Schema.Struct({ version: Schema.String });
const Paused = Schema.Struct({ is_paused: Schema.Boolean });

/** A server's configuration as text; what is looked for in it is not a part of a documented form. */
const ServerInfo = Schema.Struct({ vllm_config: Schema.Unknown });

type Checked<A> = Effect.Effect<A, ServerFailure>;

/** "0.32.1" is [0, 32]; undefined of what is no version. */
const numbered = (version: string): readonly [number, number] | undefined => {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
};

const program = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<string, ServerFailure> {
  const reply = yield* channel.ask({ method: "GET", path: "/version" });
  if (reply.status === 404) return yield* unfit(channel, "it is no vLLM server: it does not tell its version");
  const { version } = yield* channel.get({ method: "GET", path: "/version" }, Version);
  const found = numbered(version);
  // A build from source has a version of its own, and is taken.
  if (found !== undefined && found[0] === LEAST[0] && found[1] > 0 && found[1] < LEAST[1]) {
    return yield* unfit(channel, `vLLM ${version} is too old; nearest: ${LEAST.join(".")}`);
  }
  return `vLLM ${version}`;
});

/** The endpoints that change weights. A server that another run has left paused is resumed. */
const controls = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<void, ServerFailure> {
  const asked = { method: "GET", path: "/is_paused" } as const;
  const reply = yield* channel.ask(asked);
  if (reply.status === 404 || reply.status === 405) {
    return yield* unfit(channel, "it takes no new weights; start it with VLLM_SERVER_DEV_MODE=1 in its environment");
  }
  const { is_paused } = yield* channel.get(asked, Paused);
  if (is_paused) yield* channel.tell({ method: "POST", path: "/resume" });
});

/** Asks for one token behind `ids`. */
const token = (channel: Channel, model: string, ids: readonly number[]) =>
  channel.ask({
    method: "POST",
    path: "/inference/v1/generate",
    pace: "tokens",
    json: { model, token_ids: ids, sampling_params: { max_tokens: 1, temperature: 1, logprobs: 0, ignore_eos: true } },
  });

const vocabulary = Effect.fnUntraced(function* (
  channel: Channel,
  model: string,
  wanted: Wanted,
): Effect.fn.Return<void, ServerFailure> {
  const { vocabSize } = wanted;
  const last = yield* token(channel, model, [vocabSize - 1]);
  if (last.status === 403 || last.status === 404) {
    return yield* unfit(channel, "it does not take token ids; start it with --enable-scale-out");
  }
  yield* takesLastId(channel, wanted, last);
  const beyond = yield* token(channel, model, [vocabSize]);
  if (beyond.status !== 200) return;
  return yield* unfit(
    channel,
    `it serves another model: its vocabulary is larger than ours of ${vocabSize}; start it with the folder of model.path`,
  );
});

/** Adapters by name: the endpoint is there, and a load without names is refused for its names. */
const adapters = Effect.fnUntraced(function* (
  channel: Channel,
  { rank }: Wanted,
): Effect.fn.Return<void, ServerFailure> {
  const json = { lora_name: "", lora_path: "" };
  const reply = yield* channel.ask({ method: "POST", path: "/v1/load_lora_adapter", json });
  if (reply.status === 404 || reply.status === 405) {
    const what = "start it with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 in its environment and with";
    return yield* unfit(channel, `it takes no adapters; ${what} --enable-lora --max-lora-rank ${rank}`);
  }
});

/** A number of the server's configuration; null where it is not found. */
const numberIn = (text: string, name: string): number | null => {
  const [, digits] = new RegExp(`["']?\\b${name}["']?\\s*[:=]\\s*(\\d+)`).exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
};

/** What it says of itself, where it does: not every build does. */
const configuration = (channel: Channel): Checked<string> =>
  Effect.catch(
    Effect.map(
      channel.get({ method: "GET", path: "/server_info?config_format=json" }, ServerInfo),
      ({ vllm_config }) => (typeof vllm_config === "string" ? vllm_config : JSON.stringify(vllm_config)),
    ),
    () => Effect.succeed(""),
  );

export const check = Effect.fnUntraced(function* (
  channel: Channel,
  wanted: Wanted,
): Effect.fn.Return<Facts, ServerFailure> {
  const version = yield* program(channel);
  const { model, positions } = yield* served(channel, wanted, "--max-model-len");
  yield* controls(channel);
  yield* vocabulary(channel, model, wanted);
  yield* sameTokenizer(channel, wanted, { model });
  if (wanted.kind === "adapter") yield* adapters(channel, wanted);
  const text = yield* configuration(channel);
  // On the CPU, 0.32 ends its engine over a prompt that it takes in two pieces under a seed of its own.
  const seeds = !/device_config[^{]*\{[^}]*cpu/.test(text);
  return { model, positions, concurrency: numberIn(text, "max_num_seqs"), seeds, program: version };
});
