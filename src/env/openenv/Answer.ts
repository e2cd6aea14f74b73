/**
 * Answers of our server over HTTP, as a status and a JSON body. An error has OpenEnv's form: `detail`, and `code` where the wire has a name
 * for the error.
 */
import type * as Dialogue from "./Dialogue.ts";
import type { JsonObject } from "./Protocol.ts";

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

export const ok = (body: JsonObject): Answer => ({ status: 200, body });

export const failed = (status: number, detail: unknown, more: JsonObject = {}): Answer => ({
  status,
  body: { detail, ...more },
});

export const refusal = ({ code, errors, message }: Dialogue.Refusal): Answer =>
  code === "VALIDATION_ERROR"
    ? failed(422, errors ?? message, { code, message })
    : failed(code === "EXECUTION_ERROR" ? 500 : 409, message, { code });

export const answerOf = (reply: Dialogue.Reply): Answer =>
  reply._tag === "Observed" ? ok({ ...reply.payload }) : refusal(reply);
