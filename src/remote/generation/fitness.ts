/**
 * Checks of a server before the run that are the same for all kinds: the model that it serves, how long its sequences are, its tokenizer. Each refusal
 * is one sentence that says what to start it with.
 */
import { Effect, Schema } from "effect";
import type { Channel } from "./Channel.ts";
import type { Wanted } from "./Dialect.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";
import { modelsOf } from "./wire.ts";

const Tokens = Schema.Struct({ tokens: Schema.Array(Schema.Number) });

export const unfit = ({ name }: Channel, what: string): ServerFailure => failed("unfit", `${name}: ${what}`);

/** A server that asks for a key is refused with where to put it. */
export const sayingWhereKeyIs = <A>(asked: Effect.Effect<A, ServerFailure>): Effect.Effect<A, ServerFailure> =>
  Effect.mapError(asked, (failure) =>
    failure.reason === "unfit"
      ? failed("unfit", `${failure.message}; model.generator.api_key_env names the variable that holds its key`)
      : failure,
  );

/** The served base model and its longest sequence. @param lengthFlag what makes it longer */
export const served = Effect.fnUntraced(function* (
  channel: Channel,
  { model, positions }: Pick<Wanted, "model" | "positions">,
  lengthFlag: string,
) {
  const models = yield* sayingWhereKeyIs(modelsOf(channel));
  const bases = models.filter(({ parent }) => parent === undefined || parent === null);
  const names = bases.map(({ id }) => id).join(", ");
  const found = model === "" && bases.length === 1 ? bases[0] : bases.find(({ id }) => id === model);
  if (found === undefined) {
    const asked = model === "" ? "more than one model" : `no model "${model}"`;
    return yield* unfit(channel, `it serves ${asked}; set model.generator.model to one of: ${names}`);
  }
  const length = found.max_model_len ?? positions;
  if (length < positions) {
    const what = `its sequences have ${length} tokens at most, and rollout.max_model_len is ${positions}`;
    return yield* unfit(channel, `${what}; start it with ${lengthFlag} ${positions}`);
  }
  return { model: found.id, positions: length };
});

/** What an answer to a request behind the vocabulary's last id says of it. */
export const takesLastId = (
  channel: Channel,
  { vocabSize }: Wanted,
  reply: Parameters<Channel["quoted"]>[0],
): Effect.Effect<void, ServerFailure> => {
  if (reply.status === 200) return Effect.void;
  if (reply.status >= 500) {
    return Effect.fail(failed("away", `${channel.name}: status ${reply.status}: ${channel.quoted(reply)}`));
  }
  const what = `it serves another model: it does not take id ${vocabSize - 1} of a vocabulary of ${vocabSize}`;
  return Effect.fail(unfit(channel, `${what} (${channel.quoted(reply)}); start it with the folder of model.path`));
};

/** Its ids of a text are ours. @param more what its tokenizer is asked beside the text */
export const sameTokenizer = Effect.fnUntraced(function* (
  channel: Channel,
  { ids, text }: Wanted,
  more: object = {},
): Effect.fn.Return<void, ServerFailure> {
  const json = { ...more, prompt: text, add_special_tokens: false };
  const asked = { method: "POST", path: "/tokenize", json } as const;
  const reply = yield* channel.ask(asked);
  // A server that was started without a tokenizer takes ids all the same.
  if (reply.status === 404 || reply.status === 400 || reply.status === 501) return;
  const { tokens } = yield* channel.get(asked, Tokens);
  if (tokens.length === ids.length && tokens.every((id, index) => id === ids[index])) return;
  return yield* unfit(
    channel,
    `its tokenizer is another: ${JSON.stringify(text)} has ${tokens.length} ids there and ${ids.length} here, or other ones; start it with the folder of model.path`,
  );
});
