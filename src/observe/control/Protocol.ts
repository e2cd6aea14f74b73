/** The messages of the control socket: the client sends one line of JSON, and the run answers with one. */
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

/** The longest line of either side, bytes. */
export const LONGEST_LINE = 16 * 1024;

export const encodeLine = (value: ControlRequest | ControlAnswer): string => `${JSON.stringify(value)}\n`;
