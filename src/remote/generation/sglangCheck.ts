/**
 * Whether an SGLang server can generate for the run: that it is one, takes new weights, has its flags, its model, its vocabulary and its tokenizer,
 * asked in this order. Each refusal is one sentence that says what to start it with.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { Facts, Wanted } from "./Dialect.ts";
import { sameTokenizer, sayingWhereKeyIs, served, takesLastId, unfit } from "./fitness.ts";
import type { ServerFailure } from "./ServerFailure.ts";

const ServerInfo = Schema.Struct({
  version: Schema.optionalKey(Schema.NullOr(Schema.String)),
  max_running_requests: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  enable_lora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  max_lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Number)),
});
const WeightVersion = Schema.Struct({ weight_version: Schema.NullOr(Schema.String) });

/** The first of these paths that is there: newer servers have the first name, older ones the last. */
const firstOf = Effect.fnUntraced(function* (channel: Channel, paths: readonly string[]) {
  for (const path of paths) {
    const reply = yield* channel.ask({ method: "GET", path });
    // A name that is no longer served says so with this status, too.
    if (reply.status !== 404) return { method: "GET", path } as const;
  }
  return undefined;
});

/** What the weights that it has are called; "default" are those of its start. */
export const weightsOf = Effect.fnUntraced(function* (channel: Channel) {
  const question = yield* firstOf(channel, ["/model_info", "/get_weight_version"]);
  if (question === undefined)
    return yield* unfit(channel, "it does not tell which weights it has; nearest: SGLang 0.5");
  return (yield* channel.get(question, WeightVersion)).weight_version;
});

const informed = Effect.fnUntraced(function* (channel: Channel) {
  const question = yield* firstOf(channel, ["/server_info", "/get_server_info"]);
  if (question === undefined) return yield* unfit(channel, "it is no SGLang server: it does not tell of itself");
  return yield* sayingWhereKeyIs(channel.get(question, ServerInfo));
});

/** A server that another run has left paused goes on; one that cannot go on cannot be paused either. */
const controls = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<void, ServerFailure> {
  const asked = { method: "POST", path: "/continue_generation", json: {} } as const;
  const reply = yield* channel.ask(asked);
  if (reply.status === 404 || reply.status === 405) {
    return yield* unfit(channel, "it takes no new weights while it generates; nearest: SGLang 0.5");
  }
  if (reply.status !== 200) yield* channel.tell(asked);
});

const adapters = (
  channel: Channel,
  { enable_lora, max_lora_rank }: typeof ServerInfo.Type,
  { rank }: Wanted,
): Effect.Effect<void, ServerFailure> => {
  const flags = `--enable-lora --max-lora-rank ${rank}`;
  if (enable_lora !== true) return Effect.fail(unfit(channel, `it takes no adapters; start it with ${flags}`));
  const most = max_lora_rank ?? rank;
  if (most >= rank) return Effect.void;
  return Effect.fail(unfit(channel, `its adapters have rank ${most} at most; start it with ${flags}`));
};

const vocabulary = (channel: Channel, wanted: Wanted) => {
  const json = { input_ids: [wanted.vocabSize - 1], sampling_params: { max_new_tokens: 1, ignore_eos: true } };
  const asked = channel.ask({ method: "POST", path: "/generate", pace: "tokens", json });
  return Effect.flatMap(asked, (reply) => takesLastId(channel, wanted, reply));
};

export const check = Effect.fnUntraced(function* (
  channel: Channel,
  wanted: Wanted,
): Effect.fn.Return<Facts, ServerFailure> {
  const info = yield* informed(channel);
  // It calls its model by the folder of the weights that it was given last.
  const own = (yield* weightsOf(channel)) === "default";
  const { model, positions } = yield* served(channel, own ? wanted : { ...wanted, model: "" }, "--context-length");
  yield* controls(channel);
  yield* vocabulary(channel, wanted);
  yield* sameTokenizer(channel, wanted);
  if (wanted.kind === "adapter") yield* adapters(channel, info, wanted);
  const concurrency = info.max_running_requests ?? null;
  return { model, positions, concurrency, seeds: true, program: `SGLang ${info.version ?? "of an unknown version"}` };
});
