/** What the control socket carries: one line of JSON from whoever asks, one in answer. */
import { Schema } from "effect";
import { Control, Controller } from "../../domain/Control.ts";

export const Request = Schema.Struct({ control: Control, by: Controller });
export type Request = typeof Request.Type;

export const Answer = Schema.Union([
  Schema.Struct({ ok: Schema.Literal(true) }),
  Schema.Struct({ error: Schema.String }),
]);
export type Answer = typeof Answer.Type;

export const decodeRequest = Schema.decodeUnknownResult(Schema.fromJsonString(Request));
export const decodeAnswer = Schema.decodeUnknownResult(Schema.fromJsonString(Answer));

/** Bytes of a line of either side. */
export const LONGEST_LINE = 16 * 1024;

export const line = (value: Request | Answer): string => `${JSON.stringify(value)}\n`;
