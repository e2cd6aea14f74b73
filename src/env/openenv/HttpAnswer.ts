/**
 * Answers of our server over HTTP, as a status and a JSON body. An error has OpenEnv's form: `detail`, and `code` if the protocol names the
 * error.
 */

import type { JsonObject } from "./Protocol.ts";
import type * as SessionState from "./SessionState.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export const ok = (body: JsonObject): HttpAnswer => ({ status: 200, body });

export const failed = (status: number, detail: unknown, more: JsonObject = {}): HttpAnswer => ({
  status,
  body: { detail, ...more },
});

export const refusalAnswer = ({ code, errors, message }: SessionState.Refusal): HttpAnswer =>
  code === "VALIDATION_ERROR"
    ? failed(422, errors ?? message, { code, message })
    : failed(code === "EXECUTION_ERROR" ? 500 : 409, message, { code });

export const answerOfReply = (reply: SessionState.Reply): HttpAnswer =>
  reply._tag === "Observed" ? ok({ ...reply.payload }) : refusalAnswer(reply);
