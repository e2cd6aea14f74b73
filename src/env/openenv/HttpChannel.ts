/**
 * A session over HTTP: an episode that the server keeps under an `episode_id` of our choice, so that a repeated reset finds the same one. A server
 * that answers a reset without the id keeps nothing between requests, so its reset is rejected.
 */
import { Schema } from "effect";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import { asPromise } from "../../support/http/send.ts";
import {
  type Channel,
  type ChannelRequest,
  decodeOrThrow,
  decodePayload,
  excerpt,
  makeReceiptLimit,
  parseJson,
  serverError,
} from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { exchange, type HttpExchange } from "./exchange.ts";
import { addressOf, type Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

const ErrorBody = Schema.Struct({
  detail: Schema.optionalKey(Schema.Unknown),
  code: Schema.optionalKey(Schema.String),
});
const decodeError = Schema.decodeUnknownOption(ErrorBody);

const detailText = (detail: unknown): string => (typeof detail === "string" ? detail : excerpt(JSON.stringify(detail)));

/** The error of a status outside 200 to 299. */
const failureOf = (status: number, text: string, from: string): RemoteError => {
  // The page of a proxy, say, has neither code nor detail; the status says enough.
  const error = decodeError(jsonOrUndefined(text));
  const { code = `status ${status}`, detail = excerpt(text) } = error._tag === "Some" ? error.value : {};
  return serverError(from, status === 422 ? "VALIDATION_ERROR" : code, detailText(detail));
};

class HttpChannel implements Channel {
  readonly #to: Connection;
  readonly #episodeId: string;
  readonly #receive: (bytes: number) => void;

  constructor(to: Connection, episodeId: string) {
    this.#to = to;
    this.#episodeId = episodeId;
    this.#receive = makeReceiptLimit(to, addressOf(to.url, "http", ""));
  }

  async #post(path: string, json: object, signal: AbortSignal): Promise<HttpExchange> {
    const question = { method: "POST", path, json, timeoutMs: this.#to.request_timeout_ms } as const;
    const address = addressOf(this.#to.url, "http", path);
    const exchanged = await asPromise(
      exchange(this.#to, question),
      signal,
      () => new RemoteError({ reason: "aborted", message: `${address}: the request was given up` }),
    );
    const { from, status, text } = exchanged;
    this.#receive(Buffer.byteLength(text));
    if (status < 200 || status > 299) throw failureOf(status, text, from);
    return exchanged;
  }

  async request(request: ChannelRequest, signal: AbortSignal): Promise<Payload> {
    const reset = request._tag === "Reset";
    const body = { ...(reset ? request.data : { action: request.action }), episode_id: this.#episodeId };
    const { from, text } = await this.#post(reset ? "/reset" : "/step", body, signal);
    const payload = decodeOrThrow(decodePayload(parseJson(text, from)), text, from);
    if (reset && payload.metadata?.episode_id !== this.#episodeId) {
      throw new RemoteError({
        reason: "refused",
        message: `${from} keeps no episode between requests, so it cannot be played over HTTP: set transport to ws`,
      });
    }
    return payload;
  }

  async close(): Promise<void> {
    try {
      await this.#post("/close", { episode_id: this.#episodeId }, AbortSignal.timeout(1_000));
    } catch {
      // The server forgets an idle episode by itself.
    }
  }
}

export const open = (to: Connection, episodeId: string): Channel => new HttpChannel(to, episodeId);
