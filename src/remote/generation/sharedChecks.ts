/**
 * Checks before the run that vLLM and SGLang share: the served model, the length of its sequences, its tokenizer. Each refusal is one
 * sentence that says how to start the server.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { ServerRequirements } from "./Dialect.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";
import { listModels } from "./sharedRequests.ts";

const Tokens = Schema.Struct({ tokens: Schema.Array(Schema.Number) });

export const unfitServer = ({ name }: Channel, what: string): ServerFailure =>
  serverFailure("unfit", `${name}: ${what}`);

/** Adds to a refusal the key of the run file that names the variable with the server's key. */
export const withKeyHint = <A>(request: Effect.Effect<A, ServerFailure>): Effect.Effect<A, ServerFailure> =>
  Effect.mapError(request, (failure) =>
    failure.reason === "unfit"
      ? serverFailure("unfit", `${failure.message}; model.generator.api_key_env names the variable that holds its key`)
      : failure,
  );

/**
 * Returns the served base model and its longest sequence.
 *
 * @param lengthFlag the server's flag for longer sequences
 */
export const checkModel = Effect.fnUntraced(function* (
  channel: Channel,
  { model, positions }: Pick<ServerRequirements, "model" | "positions">,
  lengthFlag: string,
) {
  const models = yield* withKeyHint(listModels(channel));
  const bases = models.filter(({ parent }) => parent === undefined || parent === null);
  const names = bases.map(({ id }) => id).join(", ");
  const found = model === "" && bases.length === 1 ? bases[0] : bases.find(({ id }) => id === model);
  if (found === undefined) {
    const complaint = model === "" ? "more than one model" : `no model "${model}"`;
    return yield* unfitServer(channel, `it serves ${complaint}; set model.generator.model to one of: ${names}`);
  }
  const length = found.max_model_len ?? positions;
  if (length < positions) {
    const what = `its sequences have ${length} tokens at most, and rollout.max_model_len is ${positions}`;
    return yield* unfitServer(channel, `${what}; start it with ${lengthFlag} ${positions}`);
  }
  return { model: found.id, positions: length };
});

/** Judges the answer to a request that ends in the vocabulary's last id. */
export const checkLastId = (
  channel: Channel,
  { vocabSize }: ServerRequirements,
  reply: Parameters<Channel["quote"]>[0],
): Effect.Effect<void, ServerFailure> => {
  if (reply.status === 200) return Effect.void;
  if (reply.status >= 500) {
    return Effect.fail(serverFailure("away", `${channel.name}: status ${reply.status}: ${channel.quote(reply)}`));
  }
  const what = `it serves another model: it does not take id ${vocabSize - 1} of a vocabulary of ${vocabSize}`;
  return Effect.fail(unfitServer(channel, `${what} (${channel.quote(reply)}); start it with the folder of model.path`));
};

/**
 * Fails unless the server's ids of a text are ours.
 *
 * @param extra fields of the request beside the text
 */
export const checkTokenizer = Effect.fnUntraced(function* (
  channel: Channel,
  { ids, text }: ServerRequirements,
  extra: object = {},
): Effect.fn.Return<void, ServerFailure> {
  const json = { ...extra, prompt: text, add_special_tokens: false };
  const request = { method: "POST", path: "/tokenize", json } as const;
  const reply = yield* channel.send(request);
  // A server without a tokenizer can still take ids.
  if (reply.status === 404 || reply.status === 400 || reply.status === 501) return;
  const { tokens } = yield* channel.requestDecoded(request, Tokens);
  if (tokens.length === ids.length && tokens.every((id, index) => id === ids[index])) return;
  return yield* unfitServer(
    channel,
    `its tokenizer is another: ${JSON.stringify(text)} has ${tokens.length} ids there and ${ids.length} here, or other ones; start it with the folder of model.path`,
  );
});
