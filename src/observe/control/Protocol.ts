/** What the control socket carries: one line of JSON from whoever asks, one in answer. */
import { Schema } from "effect";
import { Control, Controller } from "../../domain/Control.ts";

export const ControlRequest = Schema.Struct({ control: Control, by: Controller });
export type ControlRequest = typeof ControlRequest.Type;

export const ControlAnswer = Schema.Union([
  Schema.Struct({ ok: Schema.Literal(true) }),
  Schema.Struct({ error: Schema.String }),
]);
export type ControlAnswer = typeof ControlAnswer.Type;

export const decodeRequest = Schema.decodeUnknownResult(Schema.fromJsonString(ControlRequest));
export const decodeAnswer = Schema.decodeUnknownResult(Schema.fromJsonString(ControlAnswer));

/** Bytes of a line of either side. */
export const LONGEST_LINE = 16 * 1024;

export const encodeLine = (value: ControlRequest | ControlAnswer): string => `${JSON.stringify(value)}\n`;
