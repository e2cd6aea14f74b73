/** What a run and the process of its page say to each other. */
import { Schema } from "effect";

/** Port of a page, unless told otherwise. */
export const usualPort = 7_788;

const Said = Schema.Union([
  Schema.Struct({
    url: Schema.String,
    /** For a terminal; null where the user knows it, or finds it in the file. */
    token: Schema.NullOr(Schema.String),
    tokenFile: Schema.NullOr(Schema.String),
  }),
  Schema.Struct({ listenFailed: Schema.Struct({ host: Schema.String, port: Schema.Number, code: Schema.String }) }),
  Schema.Struct({ refused: Schema.String }),
]);
/** The page says once where it is, or why it is nowhere. */
export type PageMessage = typeof Said.Type;
export const decodePageMessage = Schema.decodeUnknownOption(Said);

const Start = Schema.Struct({
  folder: Schema.String,
  port: Schema.Union([Schema.Number, Schema.Literal("near")]),
  terminal: Schema.Boolean,
});
export type PageStart = typeof Start.Type;

const Order = Schema.Union([Start, Schema.Struct({ ended: Schema.Literal(true) })]);
/** The run says what to show, and at last that it ends. */
export type RunMessage = typeof Order.Type;
export const decodeRunMessage = Schema.decodeUnknownOption(Order);
