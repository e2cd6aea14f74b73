/**
 * SGLang's own words: `/generate` with ids in and out, weights from a folder between a pause that keeps running requests in place and a continue, or
 * as adapters by name. Written after its documentation and never run against a server (docs/remote.md). Where an answer names one version for all
 * of its tokens, each of them counts as of the older one of that and the version that the request was sent to.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Published } from "../weights/Publisher.ts";
import { checked, type LabelledSpan, type Raw } from "./answer.ts";
import type { Channel } from "./Channel.ts";
import type { Ask, Dialect, Facts, Server, Wanted } from "./Dialect.ts";
import { loadIn } from "./metricsText.ts";
import { failed, ServerFailure } from "./ServerFailure.ts";
import { labelOf, versionIn } from "./versionNames.ts";

const TOKEN_BYTES = 1_024;
const ANSWER_BYTES = 2 ** 20;
/** Tokens that a probe asks to be named. */
const NAMED = 5;

/** A log-probability, its id, and text or nothing. */
const Logprob = Schema.TupleWithRest(Schema.Tuple([Schema.NullOr(Schema.Number), Schema.Number]), [Schema.Unknown]);
const Span = Schema.Struct({ version: Schema.String, start: Schema.Number, end: Schema.Number });
const Generated = Schema.Struct({
  output_ids: Schema.Array(Schema.Number),
  meta_info: Schema.Struct({
    finish_reason: Schema.Struct({ type: Schema.String }),
    output_token_logprobs: Schema.Array(Logprob),
    output_top_logprobs: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.Array(Logprob)))),
    weight_version: Schema.optionalKey(Schema.NullOr(Schema.String)),
    weight_versions: Schema.optionalKey(Schema.NullOr(Schema.Array(Span))),
  }),
});
const Models = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({ id: Schema.String, max_model_len: Schema.optionalKey(Schema.NullOr(Schema.Number)) }),
  ),
});
const ServerInfo = Schema.Struct({
  version: Schema.optionalKey(Schema.NullOr(Schema.String)),
  max_running_requests: Schema.optionalKey(Schema.NullOr(Schema.Number)),
});
const WeightVersion = Schema.Struct({ weight_version: Schema.NullOr(Schema.String) });
const Updated = Schema.Struct({ success: Schema.Boolean, message: Schema.optionalKey(Schema.NullOr(Schema.String)) });
const Tokens = Schema.Struct({ tokens: Schema.Array(Schema.Number) });

const adapterOf = ({ run, wanted }: Server, version: Version) =>
  wanted.kind === "adapter" ? { lora_path: labelOf(run, version) } : {};

const post = (json: object, extra: { readonly pace?: "tokens" | "loading"; readonly mostBytes?: number } = {}) =>
  ({ method: "POST", path: "/generate", json, ...extra }) as const;

const question = (server: Server, ask: Ask) =>
  post(
    {
      rid: ask.id,
      input_ids: Array.from(ask.ids),
      ...adapterOf(server, ask.version),
      // A prefix is not shared with one that other weights have computed.
      extra_key: labelOf(server.run, ask.cacheOf),
      return_logprob: true,
      sampling_params: {
        max_new_tokens: ask.maxTokens,
        temperature: ask.sampling.temperature,
        top_k: ask.sampling.topK,
        top_p: ask.sampling.topP,
        ...(ask.seed === null ? {} : { sampling_seed: ask.seed }),
        ignore_eos: true,
        stop_token_ids: ask.stopIds,
        stop: ask.stops,
        no_stop_trim: true,
        skip_special_tokens: false,
      },
    },
    { pace: "tokens", mostBytes: ANSWER_BYTES + ask.maxTokens * TOKEN_BYTES },
  );

/** The versions of an answer: its spans where it has them, else the older one of what it names and what it was asked of. */
const spansOf = (
  server: Server,
  ask: Ask,
  { meta_info, output_ids }: typeof Generated.Type,
): readonly LabelledSpan[] => {
  const whole = (version: string): readonly LabelledSpan[] => [{ version, start: 0, end: output_ids.length }];
  if (server.wanted.kind === "adapter") return whole(labelOf(server.run, ask.version));
  const { weight_version, weight_versions } = meta_info;
  if (weight_versions !== undefined && weight_versions !== null) return weight_versions;
  const version = versionIn(server.run, weight_version ?? "");
  return whole(version === undefined ? (weight_version ?? "") : labelOf(server.run, Math.min(version, ask.version)));
};

const rawOf = (server: Server, ask: Ask, generated: typeof Generated.Type): Raw | ServerFailure => {
  const { meta_info, output_ids: ids } = generated;
  const { finish_reason, output_token_logprobs: found } = meta_info;
  if (found.some(([, id], index) => id !== ids[index])) {
    const what = "its log-probabilities are of other tokens";
    return failed("nonsense", `${server.channel.name}: an answer cannot be used: ${what}`);
  }
  const logprobs = found.map(([logprob]) => logprob ?? Number.NaN);
  return { ids, finish: finish_reason.type, logprobs, spans: spansOf(server, ask, generated) };
};

const generate: Dialect["generate"] = Effect.fnUntraced(function* (server, ask) {
  const { channel, run, wanted } = server;
  const raw = rawOf(server, ask, yield* channel.get(question(server, ask), Generated));
  if (raw instanceof ServerFailure) return yield* raw;
  const rules = {
    name: channel.name,
    vocabSize: wanted.vocabSize,
    versionOf: (label: string) => versionIn(run, label),
  };
  const answer = checked(raw, ask, rules);
  if (answer instanceof ServerFailure) return yield* answer;
  return answer;
});

const likeliest: Dialect["likeliest"] = (server, version, prompt, temperature) => {
  const json = {
    input_ids: Array.from(prompt),
    ...adapterOf(server, version),
    extra_key: `${labelOf(server.run, version)}-probe`,
    return_logprob: true,
    top_logprobs_num: NAMED,
    sampling_params: { max_new_tokens: 1, temperature, ignore_eos: true },
  };
  return Effect.map(server.channel.get(post(json, { pace: "tokens" }), Generated), ({ meta_info }) => {
    const top = meta_info.output_top_logprobs?.[0] ?? [];
    return new Map(top.map(([logprob, id]) => [id, logprob ?? Number.NaN]));
  });
};

const label = (channel: Channel) =>
  Effect.map(channel.get({ method: "GET", path: "/get_weight_version" }, WeightVersion), (info) => info.weight_version);

const has: Dialect["has"] = ({ channel, run, wanted }, version) =>
  wanted.kind === "adapter"
    ? Effect.map(channel.get({ method: "GET", path: "/v1/models" }, Models), ({ data }) =>
        data.some(({ id }) => id === labelOf(run, version)),
      )
    : Effect.map(label(channel), (found) => found === labelOf(run, version));

const done = Effect.fnUntraced(function* (
  channel: Channel,
  path: string,
  json: object,
): Effect.fn.Return<void, ServerFailure> {
  const { message, success } = yield* channel.get({ method: "POST", path, json, pace: "loading" }, Updated);
  if (!success) return yield* failed("away", `${channel.name}: ${path}: ${message ?? "it did not succeed"}`);
});

const reload = Effect.fnUntraced(function* ({ channel, run }: Server, { folder, version }: Published) {
  const resume = channel.tell({ method: "POST", path: "/continue_generation", json: {} });
  yield* channel.tell({ method: "POST", path: "/pause_generation", json: { mode: "in_place" }, pace: "loading" });
  const json = {
    model_path: folder,
    weight_version: labelOf(run, version),
    abort_all_requests: false,
    flush_cache: false,
  };
  yield* Effect.onError(done(channel, "/update_weights_from_disk", json), () => Effect.ignore(resume));
  yield* resume;
});

const adopt: Dialect["adopt"] = (server, published) =>
  published.kind === "full"
    ? reload(server, published)
    : done(server.channel, "/load_lora_adapter", {
        lora_name: labelOf(server.run, published.version),
        lora_path: published.folder,
      });

const forget: Dialect["forget"] = ({ channel, run, wanted }, version) =>
  wanted.kind === "full"
    ? Effect.void
    : channel.tell({ method: "POST", path: "/unload_lora_adapter", json: { lora_name: labelOf(run, version) } });

const counters = {
  running: "sglang:num_running_reqs",
  waiting: "sglang:num_queue_reqs",
  cache: "sglang:token_usage",
  promptTokens: "sglang:prompt_tokens_total",
} as const;

/** Without --enable-metrics it tells nothing. */
const load: Dialect["load"] = (channel) =>
  Effect.map(channel.ask({ method: "GET", path: "/metrics" }), ({ body, status }) =>
    status === 200 ? loadIn(body ?? "", counters) : {},
  );

const unfit = ({ name }: Channel, what: string): ServerFailure => failed("unfit", `${name}: ${what}`);

const served = Effect.fnUntraced(function* (channel: Channel, { model, positions }: Wanted) {
  const { data } = yield* channel.get({ method: "GET", path: "/v1/models" }, Models);
  const [first] = data;
  const found = model === "" ? first : data.find(({ id }) => id === model);
  if (found === undefined) {
    const names = data.map(({ id }) => id).join(", ");
    return yield* unfit(channel, `it serves no model "${model}"; set model.generator.model to one of: ${names}`);
  }
  const length = found.max_model_len ?? positions;
  if (length < positions) {
    const what = `its sequences have ${length} tokens at most, and rollout.max_model_len is ${positions}`;
    return yield* unfit(channel, `${what}; start it with --context-length ${positions}`);
  }
  return { model: found.id, positions: length };
});

const check = Effect.fnUntraced(function* (channel: Channel, wanted: Wanted): Effect.fn.Return<Facts, ServerFailure> {
  const reply = yield* channel.ask({ method: "GET", path: "/get_server_info" });
  if (reply.status === 404) return yield* unfit(channel, "it is no SGLang server: it does not tell of itself");
  const info = yield* channel.get({ method: "GET", path: "/get_server_info" }, ServerInfo);
  const { model, positions } = yield* served(channel, wanted);
  const last = post({ input_ids: [wanted.vocabSize - 1], sampling_params: { max_new_tokens: 1 } }, { pace: "tokens" });
  const token = yield* channel.ask(last);
  if (token.status >= 400 && token.status < 500) {
    const what = `it serves another model: it does not take id ${wanted.vocabSize - 1} (${channel.quoted(token)})`;
    return yield* unfit(channel, `${what}; start it with the folder of model.path`);
  }
  const json = { prompt: wanted.text, add_special_tokens: false };
  const asked = yield* channel.ask({ method: "POST", path: "/tokenize", json });
  if (asked.status === 200) {
    const { tokens } = yield* channel.get({ method: "POST", path: "/tokenize", json }, Tokens);
    if (tokens.length !== wanted.ids.length || tokens.some((id, index) => id !== wanted.ids[index])) {
      return yield* unfit(channel, "its tokenizer is another; start it with the folder of model.path");
    }
  }
  const concurrency = info.max_running_requests ?? null;
  return { model, positions, concurrency, seeds: true, program: `SGLang ${info.version ?? "of an unknown version"}` };
});

export const sglang: Dialect = {
  pins: (kind) => kind === "adapter",
  check,
  generate,
  likeliest,
  temperedBy: "no SGLANG_RETURN_ORIGINAL_LOGPROB in its environment",
  untouched: (channel) => Effect.map(label(channel), (found) => found === "default"),
  has,
  adopt,
  forget,
  load,
};
