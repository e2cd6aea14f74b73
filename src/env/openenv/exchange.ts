/**
 * Makes one HTTP request to an OpenEnv server, and gives the status and the text of the reply. Every failure of the transport is a `RemoteError`
 * whose message names the address.
 */
import { Effect } from "effect";
import { type HttpFailure, type HttpReply, type HttpRequest, send } from "../../support/http/send.ts";
import { type Connection, credentials } from "./Connection.ts";
import { addressOf } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

export interface HttpExchange {
  /** The address of the request. */
  readonly from: string;
  readonly status: number;
  readonly text: string;
}

export interface ExchangeRequest extends Pick<HttpRequest, "method" | "json"> {
  readonly path: string;
  readonly timeoutMs: number;
}

export const exchange = (
  to: Connection,
  { path, ...request }: ExchangeRequest,
): Effect.Effect<HttpExchange, RemoteError> => {
  const from = addressOf(to.url, "http", path);
  return send({ ...request, url: from, headers: credentials(to), maxBytes: to.max_message_bytes }).pipe(
    Effect.mapError(({ message, reason }: HttpFailure) => new RemoteError({ reason, message: `${from}: ${message}` })),
    Effect.flatMap(({ body, status }: HttpReply) =>
      body === null
        ? Effect.fail(
            new RemoteError({
              reason: "limit",
              message: `${from}: a message longer than ${to.max_message_bytes} bytes`,
            }),
          )
        : Effect.succeed({ from, status, text: body }),
    ),
  );
};

/** Makes a GET outside any session, with the time limit of a connection. */
export const get = (to: Connection, path: string): Promise<HttpExchange> =>
  Effect.runPromise(exchange(to, { method: "GET", path, timeoutMs: to.connect_timeout_ms }));
