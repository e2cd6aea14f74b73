/**
 * SGLang's own words: `/generate` with ids in and out, weights from a folder between a pause that keeps running requests in place and a continue, or
 * as adapters by name. Written after its documentation and its server's source, and tested on a scripted server alone (docs/remote.md). Where an
 * answer names one version for all of its tokens, each of them counts as of the older one of that and the version that the request was sent to.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import type { Published } from "../weights/Publisher.ts";
import type { LabelledSpan, Raw } from "./answer.ts";
import type { Ask, Dialect, Server } from "./Dialect.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";
import { check, weightsOf } from "./sglangCheck.ts";
import { labelOf, versionIn } from "./versionNames.ts";
import { answerOf, forgetAt, listsAdapter, loadBy, NAMED, Span, whereForgotten } from "./wire.ts";

const TOKEN_BYTES = 1_024;
const ANSWER_BYTES = 2 ** 20;

/** A log-probability, its id, and text or nothing. */
const Logprob = Schema.TupleWithRest(Schema.Tuple([Schema.NullOr(Schema.Number), Schema.Number]), [Schema.Unknown]);
/** A request that was ended before its first token has neither ids nor log-probabilities. */
const Generated = Schema.Struct({
  output_ids: Schema.optionalKey(Schema.Array(Schema.Number)),
  meta_info: Schema.Struct({
    finish_reason: Schema.Struct({ type: Schema.String }),
    output_token_logprobs: Schema.optionalKey(Schema.Array(Logprob)),
    output_top_logprobs: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.Array(Logprob)))),
    weight_version: Schema.optionalKey(Schema.NullOr(Schema.String)),
    weight_versions: Schema.optionalKey(Schema.NullOr(Schema.Array(Span))),
  }),
});
const Updated = Schema.Struct({ success: Schema.Boolean, message: Schema.optionalKey(Schema.NullOr(Schema.String)) });
const Loaded = Schema.Struct({
  error_message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  loaded_adapters: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
});
const decodeLoaded = Schema.decodeUnknownOption(Loaded);

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
  { meta_info, output_ids = [] }: typeof Generated.Type,
): readonly LabelledSpan[] => {
  const whole = (version: string): readonly LabelledSpan[] => [{ version, start: 0, end: output_ids.length }];
  if (server.wanted.kind === "adapter") return whole(labelOf(server.run, ask.version));
  const { weight_version, weight_versions } = meta_info;
  if (weight_versions !== undefined && weight_versions !== null) return weight_versions;
  const version = versionIn(server.run, weight_version ?? "");
  return whole(version === undefined ? (weight_version ?? "") : labelOf(server.run, Math.min(version, ask.version)));
};

const rawOf = (server: Server, ask: Ask, generated: typeof Generated.Type): Raw | ServerFailure => {
  const { meta_info, output_ids: ids = [] } = generated;
  const { finish_reason, output_token_logprobs: found = [] } = meta_info;
  if (found.some(([, id], index) => id !== ids[index])) {
    const what = "its log-probabilities are of other tokens";
    return failed("nonsense", `${server.channel.name}: an answer cannot be used: ${what}`);
  }
  const logprobs = found.map(([logprob]) => logprob ?? Number.NaN);
  return { ids, finish: finish_reason.type, logprobs, spans: spansOf(server, ask, generated) };
};

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

const has: Dialect["has"] = (server, version) =>
  server.wanted.kind === "adapter"
    ? listsAdapter(server, version)
    : Effect.map(weightsOf(server.channel), (found) => found === labelOf(server.run, version));

const generate: Dialect["generate"] = Effect.fnUntraced(function* (server, ask) {
  const generated = server.channel.get(question(server, ask), Generated);
  const found = yield* Effect.catch(generated, whereForgotten(has, server, ask.version));
  return yield* answerOf(server, ask, rawOf(server, ask, found));
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
  const path = "/update_weights_from_disk";
  const swap = channel.get({ method: "POST", path, json, pace: "loading" }, Updated);
  const swapped = Effect.flatMap(swap, ({ message, success }) =>
    success ? Effect.void : Effect.fail(failed("away", `${channel.name}: ${path}: ${message ?? "it did not succeed"}`)),
  );
  yield* Effect.onError(swapped, () => Effect.ignore(resume));
  yield* resume;
});

/** An adapter that is there already is refused as one that cannot be loaded is: the answer lists those that are there. */
const loadAdapter = Effect.fnUntraced(function* ({ channel, run }: Server, { folder, version }: Published) {
  const lora_name = labelOf(run, version);
  const asked = { method: "POST", path: "/load_lora_adapter", pace: "loading" } as const;
  const reply = yield* channel.ask({ ...asked, json: { lora_name, lora_path: folder } });
  const loaded = decodeLoaded(jsonOrUndefined(reply.body));
  const there = loaded._tag === "Some" && Object.hasOwn(loaded.value.loaded_adapters ?? {}, lora_name);
  if (reply.status === 200 || there) return;
  const why = (loaded._tag === "Some" ? loaded.value.error_message : null) ?? channel.quoted(reply);
  return yield* failed("away", `${channel.name}: it does not load an adapter: status ${reply.status}: ${why}`);
});

/** Without --enable-metrics it shows none of them. */
const counters = {
  running: "sglang:num_running_reqs",
  waiting: "sglang:num_queue_reqs",
  cache: "sglang:token_usage",
  promptTokens: "sglang:prompt_tokens_total",
  cachedTokens: "sglang:cached_tokens_total",
} as const;

export const sglang: Dialect = {
  pins: (kind) => kind === "adapter",
  check,
  generate,
  likeliest,
  temperedBy: "no SGLANG_RETURN_ORIGINAL_LOGPROB in its environment",
  untouched: (channel) => Effect.map(weightsOf(channel), (found) => found === "default"),
  has,
  adopt: (server, published) =>
    published.kind === "adapter" ? loadAdapter(server, published) : reload(server, published),
  forget: forgetAt("/unload_lora_adapter"),
  load: loadBy(counters),
};
