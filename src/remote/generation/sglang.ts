/**
 * The requests of SGLang: `/generate` with ids in and out. Whole weights are loaded from a folder between a pause in place and a continue;
 * adapters are loaded by name. It is written after SGLang's documentation and source, and tested on a scripted server alone
 * (docs/remote.md). If an answer names one version for all of its tokens, each counts as of that or of the requested version, whichever is
 * older.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import type { PublishedVersion } from "../weights/Publisher.ts";
import type { ChannelRequest } from "./Channel.ts";
import type { LabelledSpan, RawPart } from "./checkPart.ts";
import type { Dialect, ServerContext, ServerRequest } from "./Dialect.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";
import { check, weightVersion } from "./sglangCheck.ts";
import {
  checkedPart,
  detectForgotten,
  listsAdapter,
  loadFromCounters,
  PROBE_TOKENS,
  parseLabel,
  unloadAdapterAt,
  VersionSpan,
  versionLabel,
} from "./sharedRequests.ts";

const TOKEN_BYTES = 1_024;
const ANSWER_BYTES = 2 ** 20;

/** A log-probability, its id, and perhaps its text. */
const Logprob = Schema.TupleWithRest(Schema.Tuple([Schema.NullOr(Schema.Number), Schema.Number]), [Schema.Unknown]);
/** A request that ends before its first token has neither ids nor log-probabilities. */
const Generated = Schema.Struct({
  output_ids: Schema.optionalKey(Schema.Array(Schema.Number)),
  meta_info: Schema.Struct({
    finish_reason: Schema.Struct({ type: Schema.String }),
    output_token_logprobs: Schema.optionalKey(Schema.Array(Logprob)),
    output_top_logprobs: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.Array(Logprob)))),
    weight_version: Schema.optionalKey(Schema.NullOr(Schema.String)),
    weight_versions: Schema.optionalKey(Schema.NullOr(Schema.Array(VersionSpan))),
  }),
});
const Updated = Schema.Struct({ success: Schema.Boolean, message: Schema.optionalKey(Schema.NullOr(Schema.String)) });
const Loaded = Schema.Struct({
  error_message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  loaded_adapters: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
});
const decodeLoaded = Schema.decodeUnknownOption(Loaded);

const adapterOf = ({ run, requirements }: ServerContext, version: Version) =>
  requirements.kind === "adapter" ? { lora_path: versionLabel(run, version) } : {};

const post = (json: object, extra: Pick<ChannelRequest, "timeout" | "mostBytes"> = {}): ChannelRequest => ({
  method: "POST",
  path: "/generate",
  json,
  ...extra,
});

const generateRequest = (server: ServerContext, request: ServerRequest) =>
  post(
    {
      rid: request.id,
      input_ids: Array.from(request.ids),
      ...adapterOf(server, request.version),
      // Keyed by version: other weights' caches of the same prefix are not reused.
      extra_key: versionLabel(server.run, request.cacheOf),
      return_logprob: true,
      sampling_params: {
        max_new_tokens: request.maxTokens,
        temperature: request.sampling.temperature,
        top_k: request.sampling.topK,
        top_p: request.sampling.topP,
        ...(request.seed === null ? {} : { sampling_seed: request.seed }),
        ignore_eos: true,
        stop_token_ids: request.stopIds,
        stop: request.stops,
        no_stop_trim: true,
        skip_special_tokens: false,
      },
    },
    { timeout: "tokens", mostBytes: ANSWER_BYTES + request.maxTokens * TOKEN_BYTES },
  );

/** The versions of an answer: its spans if it has them, else the older of the named and the requested one. */
const spansOf = (
  server: ServerContext,
  request: ServerRequest,
  { meta_info, output_ids = [] }: typeof Generated.Type,
): readonly LabelledSpan[] => {
  const whole = (version: string): readonly LabelledSpan[] => [{ version, start: 0, end: output_ids.length }];
  if (server.requirements.kind === "adapter") return whole(versionLabel(server.run, request.version));
  const { weight_version, weight_versions } = meta_info;
  if (weight_versions !== undefined && weight_versions !== null) return weight_versions;
  const version = parseLabel(server.run, weight_version ?? "");
  return whole(
    version === undefined ? (weight_version ?? "") : versionLabel(server.run, Math.min(version, request.version)),
  );
};

const rawPart = (
  server: ServerContext,
  request: ServerRequest,
  generated: typeof Generated.Type,
): RawPart | ServerFailure => {
  const { meta_info, output_ids: ids = [] } = generated;
  const { finish_reason, output_token_logprobs: logprobPairs = [] } = meta_info;
  if (logprobPairs.some(([, id], index) => id !== ids[index])) {
    const what = "its log-probabilities are of other tokens";
    return serverFailure("nonsense", `${server.channel.name}: an answer cannot be used: ${what}`);
  }
  const logprobs = logprobPairs.map(([logprob]) => logprob ?? Number.NaN);
  return { ids, finish: finish_reason.type, logprobs, spans: spansOf(server, request, generated) };
};

const likeliestTokens: Dialect["likeliestTokens"] = (server, version, prompt, temperature) => {
  const json = {
    input_ids: Array.from(prompt),
    ...adapterOf(server, version),
    extra_key: `${versionLabel(server.run, version)}-probe`,
    return_logprob: true,
    top_logprobs_num: PROBE_TOKENS,
    sampling_params: { max_new_tokens: 1, temperature, ignore_eos: true },
  };
  return Effect.map(server.channel.requestDecoded(post(json, { timeout: "tokens" }), Generated), ({ meta_info }) => {
    const top = meta_info.output_top_logprobs?.[0] ?? [];
    return new Map(top.map(([logprob, id]) => [id, logprob ?? Number.NaN]));
  });
};

const hasVersion: Dialect["hasVersion"] = (server, version) =>
  server.requirements.kind === "adapter"
    ? listsAdapter(server, version)
    : Effect.map(weightVersion(server.channel), (label) => label === versionLabel(server.run, version));

const generate: Dialect["generate"] = Effect.fnUntraced(function* (server, request) {
  const generated = server.channel.requestDecoded(generateRequest(server, request), Generated);
  const reply = yield* Effect.catch(generated, detectForgotten(hasVersion, server, request.version));
  return yield* checkedPart(server, request, rawPart(server, request, reply));
});

const reload = Effect.fnUntraced(function* ({ channel, run }: ServerContext, { folder, version }: PublishedVersion) {
  const resume = channel.requestOk({ method: "POST", path: "/continue_generation", json: {} });
  yield* channel.requestOk({
    method: "POST",
    path: "/pause_generation",
    json: { mode: "in_place" },
    timeout: "loading",
  });
  const json = {
    model_path: folder,
    weight_version: versionLabel(run, version),
    abort_all_requests: false,
    flush_cache: false,
  };
  const path = "/update_weights_from_disk";
  const swap = channel.requestDecoded({ method: "POST", path, json, timeout: "loading" }, Updated);
  const swapped = Effect.flatMap(swap, ({ message, success }) =>
    success
      ? Effect.void
      : Effect.fail(serverFailure("away", `${channel.name}: ${path}: ${message ?? "it did not succeed"}`)),
  );
  yield* Effect.onError(swapped, () => Effect.ignore(resume));
  yield* resume;
});

/** Loads an adapter. A refusal is no failure if the answer lists the adapter as loaded. */
const loadAdapter = Effect.fnUntraced(function* (
  { channel, run }: ServerContext,
  { folder, version }: PublishedVersion,
) {
  const lora_name = versionLabel(run, version);
  const request: ChannelRequest = { method: "POST", path: "/load_lora_adapter", timeout: "loading" };
  const reply = yield* channel.send({ ...request, json: { lora_name, lora_path: folder } });
  const loaded = decodeLoaded(jsonOrUndefined(reply.body));
  const isThere = loaded._tag === "Some" && Object.hasOwn(loaded.value.loaded_adapters ?? {}, lora_name);
  if (reply.status === 200 || isThere) return;
  const why = (loaded._tag === "Some" ? loaded.value.error_message : null) ?? channel.quote(reply);
  return yield* serverFailure("away", `${channel.name}: it does not load an adapter: status ${reply.status}: ${why}`);
});

/** A server without --enable-metrics shows none of these counters. */
const counters = {
  running: "sglang:num_running_reqs",
  waiting: "sglang:num_queue_reqs",
  cache: "sglang:token_usage",
  promptTokens: "sglang:prompt_tokens_total",
  cachedTokens: "sglang:cached_tokens_total",
} as const;

export const sglang: Dialect = {
  pinsVersions: (kind) => kind === "adapter",
  check,
  generate,
  likeliestTokens,
  temperedFlag: "no SGLANG_RETURN_ORIGINAL_LOGPROB in its environment",
  hasStartingWeights: (channel) => Effect.map(weightVersion(channel), (label) => label === "default"),
  hasVersion,
  adopt: (server, published) =>
    published.kind === "adapter" ? loadAdapter(server, published) : reload(server, published),
  unload: unloadAdapterAt("/unload_lora_adapter"),
  fetchLoad: loadFromCounters(counters),
};
