/**
 * A session over HTTP: an episode the server keeps under an `episode_id` of our choosing, so that a repeated reset finds the same one.
 * Enters: a connection and the id; leaves: a channel. A server that answers a reset without the id keeps nothing, and is refused.
 */
import { Schema } from "effect";
import { networkReason, textWithin } from "../env/http.ts";
import {
  type Channel,
  decoded,
  decodePayload,
  excerpt,
  makeMeter,
  parseJson,
  type Request,
  serverError,
} from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { addressOf, type Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

const ErrorBody = Schema.Struct({
  detail: Schema.optionalKey(Schema.Unknown),
  code: Schema.optionalKey(Schema.String),
});
const decodeError = Schema.decodeUnknownOption(ErrorBody);

/** The text of a response. Rejects with a `RemoteError` where it is longer than `limit` bytes. */
export const textOf = async (response: Response, limit: number, from: string): Promise<string> => {
  const text = await textWithin(response, limit);
  if (text !== null) return text;
  throw new RemoteError({ reason: "limit", message: `${from}: a message longer than ${limit} bytes` });
};

const sentence = (detail: unknown): string => (typeof detail === "string" ? detail : excerpt(JSON.stringify(detail)));

/** What a status other than 200 says. */
const failureOf = (status: number, text: string, from: string): RemoteError => {
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page; the status says enough.
  }
  const error = decodeError(body);
  const { code = `status ${status}`, detail = excerpt(text) } = error._tag === "Some" ? error.value : {};
  return serverError(from, status === 422 ? "VALIDATION_ERROR" : code, sentence(detail));
};

export const open = (to: Connection, episodeId: string): Channel => {
  const receive = makeMeter(to, addressOf(to.url, "http", ""));

  const post = async (path: string, body: object, signal: AbortSignal): Promise<string> => {
    const from = addressOf(to.url, "http", path);
    const timeout = AbortSignal.timeout(to.request_timeout_ms);
    let connected = false;
    try {
      const response = await fetch(from, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, timeout]),
      });
      connected = true;
      const text = await textOf(response, to.max_message_bytes, from);
      receive(Buffer.byteLength(text));
      if (!response.ok) throw failureOf(response.status, text, from);
      return text;
    } catch (error) {
      if (error instanceof RemoteError) throw error;
      if (signal.aborted) throw new RemoteError({ reason: "aborted", message: `${from}: the request was given up` });
      if (timeout.aborted) {
        throw new RemoteError({ reason: "timeout", message: `${from}: no answer after ${to.request_timeout_ms} ms` });
      }
      throw new RemoteError({
        reason: connected ? "disconnected" : "unreachable",
        message: `${from}: ${networkReason(error)}`,
      });
    }
  };

  const ask = async (request: Request, signal: AbortSignal): Promise<Payload> => {
    const reset = request._tag === "Reset";
    const path = reset ? "/reset" : "/step";
    const from = addressOf(to.url, "http", path);
    const body = { ...(reset ? request.data : { action: request.action }), episode_id: episodeId };
    const text = await post(path, body, signal);
    const payload = decoded(decodePayload(parseJson(text, from)), text, from);
    if (reset && payload.metadata?.episode_id !== episodeId) {
      throw new RemoteError({
        reason: "refused",
        message: `${from} keeps no episode between requests, so it cannot be played over HTTP: set transport to ws`,
      });
    }
    return payload;
  };

  const close = async (): Promise<void> => {
    try {
      await post("/close", { episode_id: episodeId }, AbortSignal.timeout(1_000));
    } catch {
      // The server forgets an idle episode by itself.
    }
  };

  return { ask, close };
};
