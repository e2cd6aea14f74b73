/**
 * Checks that an SGLang server can generate for the run, in this order: its program, new weights, its flags, model, vocabulary and
 * tokenizer. Each refusal is one sentence that says how to start the server.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { ServerFacts, ServerRequirements } from "./Dialect.ts";
import type { ServerFailure } from "./ServerFailure.ts";
import { checkLastId, checkModel, checkTokenizer, unfitServer, withKeyHint } from "./sharedChecks.ts";

const ServerInfo = Schema.Struct({
  version: Schema.optionalKey(Schema.NullOr(Schema.String)),
  max_running_requests: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  enable_lora: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  max_lora_rank: Schema.optionalKey(Schema.NullOr(Schema.Number)),
});
const WeightVersion = Schema.Struct({ weight_version: Schema.NullOr(Schema.String) });

/** Finds the first path that the server has: newer servers have the first, older ones the last. */
const findPath = Effect.fnUntraced(function* (channel: Channel, paths: readonly string[]) {
  for (const path of paths) {
    const reply = yield* channel.send({ method: "GET", path });
    // Servers answer 404 to a path that they no longer have, too.
    if (reply.status !== 404) return { method: "GET", path } as const;
  }
  return undefined;
});

/** Returns the label of the server's weights; "default" stands for those of its start. */
export const weightVersion = Effect.fnUntraced(function* (channel: Channel) {
  const question = yield* findPath(channel, ["/model_info", "/get_weight_version"]);
  if (question === undefined)
    return yield* unfitServer(channel, "it does not tell which weights it has; nearest: SGLang 0.5");
  return (yield* channel.requestDecoded(question, WeightVersion)).weight_version;
});

const fetchInfo = Effect.fnUntraced(function* (channel: Channel) {
  const question = yield* findPath(channel, ["/server_info", "/get_server_info"]);
  if (question === undefined) return yield* unfitServer(channel, "it is no SGLang server: it does not tell of itself");
  return yield* withKeyHint(channel.requestDecoded(question, ServerInfo));
});

/** Resumes a server that another run has left paused. A server that cannot resume cannot be paused either. */
const checkControls = Effect.fnUntraced(function* (channel: Channel): Effect.fn.Return<void, ServerFailure> {
  const request = { method: "POST", path: "/continue_generation", json: {} } as const;
  const reply = yield* channel.send(request);
  if (reply.status === 404 || reply.status === 405) {
    return yield* unfitServer(channel, "it takes no new weights while it generates; nearest: SGLang 0.5");
  }
  if (reply.status !== 200) yield* channel.requestOk(request);
});

const checkAdapters = (
  channel: Channel,
  { enable_lora, max_lora_rank }: typeof ServerInfo.Type,
  { rank }: ServerRequirements,
): Effect.Effect<void, ServerFailure> => {
  const flags = `--enable-lora --max-lora-rank ${rank}`;
  if (enable_lora !== true) return Effect.fail(unfitServer(channel, `it takes no adapters; start it with ${flags}`));
  const most = max_lora_rank ?? rank;
  if (most >= rank) return Effect.void;
  return Effect.fail(unfitServer(channel, `its adapters have rank ${most} at most; start it with ${flags}`));
};

const checkVocabulary = (channel: Channel, requirements: ServerRequirements) => {
  const json = { input_ids: [requirements.vocabSize - 1], sampling_params: { max_new_tokens: 1, ignore_eos: true } };
  const reply = channel.send({ method: "POST", path: "/generate", timeout: "tokens", json });
  return Effect.flatMap(reply, (reply) => checkLastId(channel, requirements, reply));
};

export const check = Effect.fnUntraced(function* (
  channel: Channel,
  requirements: ServerRequirements,
): Effect.fn.Return<ServerFacts, ServerFailure> {
  const info = yield* fetchInfo(channel);
  // After new weights, the server calls its model by their folder.
  const hasStartingWeights = (yield* weightVersion(channel)) === "default";
  const { model, positions } = yield* checkModel(
    channel,
    hasStartingWeights ? requirements : { ...requirements, model: "" },
    "--context-length",
  );
  yield* checkControls(channel);
  yield* checkVocabulary(channel, requirements);
  yield* checkTokenizer(channel, requirements);
  if (requirements.kind === "adapter") yield* checkAdapters(channel, info, requirements);
  const concurrency = info.max_running_requests ?? null;
  return {
    model,
    positions,
    concurrency,
    takesSeeds: true,
    program: `SGLang ${info.version ?? "of an unknown version"}`,
  };
});
