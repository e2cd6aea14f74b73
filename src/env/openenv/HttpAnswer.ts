/**
 * HTTP answers of the server that serves an environment by OpenEnv's protocol, as a status and a JSON body. The body of an error has `detail`,
 * and `code` if OpenEnv has a code for it.
 */

import type { JsonObject } from "./Protocol.ts";
import type * as SessionState from "./SessionState.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export const ok = (body: JsonObject): HttpAnswer => ({ status: 200, body });

/** An error. `fields` are added to its body. */
export const failed = (status: number, detail: unknown, fields: JsonObject = {}): HttpAnswer => ({
  status,
  body: { detail, ...fields },
});

/** The `detail` of a validation error lists its parts if they are known, so the message stands beside it. */
export const refusalAnswer = ({ code, errors, message }: SessionState.Refusal): HttpAnswer =>
  code === "VALIDATION_ERROR"
    ? failed(422, errors ?? message, { code, message })
    : failed(code === "EXECUTION_ERROR" ? 500 : 409, message, { code });

export const answerOfReply = (reply: SessionState.Reply): HttpAnswer =>
  reply._tag === "Observed" ? ok({ ...reply.payload }) : refusalAnswer(reply);
