/**
 * One HTTP request to an OpenEnv server: a path enters, the status and the text leave. Every failure of the transport is a `RemoteError`
 * whose message names the address.
 */
import { Effect } from "effect";
import { type HttpFailure, type HttpReply, type HttpRequest, send } from "../../support/http/send.ts";
import { type Connection, credentials } from "./Connection.ts";
import { addressOf } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

export interface Exchanged {
  /** The address that was asked. */
  readonly from: string;
  readonly status: number;
  readonly text: string;
}

export interface Exchange extends Pick<HttpRequest, "method" | "json"> {
  readonly path: string;
  readonly timeoutMs: number;
}

export const exchange = (to: Connection, { path, ...request }: Exchange): Effect.Effect<Exchanged, RemoteError> => {
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

/** A GET outside any session. It may take as long as a connection may. */
export const get = (to: Connection, path: string): Promise<Exchanged> =>
  Effect.runPromise(exchange(to, { method: "GET", path, timeoutMs: to.connect_timeout_ms }));
