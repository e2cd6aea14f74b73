/** The messages between a run and the process of its page. */
import { Schema } from "effect";

/** The default port of a page. */
export const usualPort = 7_788;

const Said = Schema.Union([
  Schema.Struct({
    url: Schema.String,
    /** The token, for a terminal; null if the user has it, or finds it in the file. */
    token: Schema.NullOr(Schema.String),
    tokenFile: Schema.NullOr(Schema.String),
  }),
  Schema.Struct({ listenFailed: Schema.Struct({ host: Schema.String, port: Schema.Number, code: Schema.String }) }),
  Schema.Struct({ refused: Schema.String }),
]);
/** The page reports its address once, or the reason why it has none. */
export type PageMessage = typeof Said.Type;
export const decodePageMessage = Schema.decodeUnknownOption(Said);

const Start = Schema.Struct({
  folder: Schema.String,
  port: Schema.Union([Schema.Number, Schema.Literal("near")]),
  terminal: Schema.Boolean,
});
export type PageStart = typeof Start.Type;

const Order = Schema.Union([Start, Schema.Struct({ ended: Schema.Literal(true) })]);
/** The run sends its request first, and its end last. */
export type RunMessage = typeof Order.Type;
export const decodeRunMessage = Schema.decodeUnknownOption(Order);
