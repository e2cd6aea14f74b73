/**
 * A session over `/ws`. Enters: a connection; leaves: a channel once the socket stands. Invariant: an answer that comes late, unasked or
 * in a shape of its own ends the channel, since answers carry no id and the next one would be taken for it.
 */
import { Schema } from "effect";
import { type RawData, WebSocket } from "ws";
import { type Channel, decoded, makeMeter, parseJson, type Request, serverError } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import { addressOf, type Payload, SocketAnswer } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

/** How long a server may take to close its end. */
const closeMs = 500;

const decodeAnswer = Schema.decodeUnknownResult(SocketAnswer);

const textOf = (data: RawData): string =>
  Array.isArray(data) ? Buffer.concat(data).toString() : Buffer.from(data as Buffer).toString();

const messageOf = (request: Request): string =>
  JSON.stringify(
    request._tag === "Reset" ? { type: "reset", data: request.data } : { type: "step", data: request.action },
  );

/** The payload in a message, or the rejection it is. */
const payloadOf = (text: string, from: string): Payload => {
  const answer = decoded(decodeAnswer(parseJson(text, from)), text, from);
  switch (answer.type) {
    case "observation":
      return answer.data;
    case "error":
      throw serverError(from, answer.data.code ?? "an error", answer.data.message ?? "without a message");
    case "state":
      throw new RemoteError({ reason: "nonsense", message: `${from} sent a state nobody asked for` });
  }
};

/** Failures a server reports by a message of its own. */
const reported: readonly RemoteError["reason"][] = ["capacity", "invalid", "refused"];

interface Waiting {
  readonly resolve: (payload: Payload) => void;
  readonly reject: (error: RemoteError) => void;
}

export const open = (to: Connection, signal: AbortSignal): Promise<Channel> => {
  const from = addressOf(to.url, "ws", "/ws");
  const socket = new WebSocket(from, { maxPayload: to.max_message_bytes, perMessageDeflate: false });
  const receive = makeMeter(to, from);
  let broken: RemoteError | null = null;
  let waiting: Waiting | null = null;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));

  const settle = (finish: (waiting: Waiting) => void): void => {
    const settled = waiting;
    waiting = null;
    if (settled !== null) finish(settled);
  };
  const fail = (error: RemoteError): void => {
    broken ??= error;
    const failure = broken;
    settle(({ reject }) => reject(failure));
    socket.terminate();
  };
  const read = (text: string): void => {
    try {
      receive(Buffer.byteLength(text));
      const payload = payloadOf(text, from);
      if (waiting === null) {
        fail(new RemoteError({ reason: "nonsense", message: `${from} sent an answer nobody asked for` }));
      } else settle(({ resolve }) => resolve(payload));
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      // What the server says of itself leaves the socket in order: whoever asked closes it.
      if (waiting !== null && reported.includes(error.reason)) settle(({ reject }) => reject(error));
      else fail(error);
    }
  };

  socket.on("message", (data, binary) => {
    if (binary) fail(new RemoteError({ reason: "nonsense", message: `${from} sent binary data` }));
    else if (broken === null) read(textOf(data));
  });
  socket.on("close", (code) =>
    fail(new RemoteError({ reason: "disconnected", message: `${from} closed the session (${code})` })),
  );
  socket.on("error", (error: NodeJS.ErrnoException) => {
    const reason = error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" ? "limit" : "disconnected";
    const said = reason === "limit" ? `a message longer than ${to.max_message_bytes} bytes` : error.message;
    fail(new RemoteError({ reason, message: `${from}: ${said}` }));
  });

  /** `start` runs until it settles, the time is up, nobody waits any more, or the channel fails. */
  const limited = <A>(
    limitMs: number,
    what: string,
    signal: AbortSignal,
    start: (resolve: (value: A) => void, reject: (error: RemoteError) => void) => void,
  ): Promise<A> =>
    new Promise<A>((resolve, reject) => {
      const abort = (): void => fail(new RemoteError({ reason: "aborted", message: `${from}: ${what} was given up` }));
      const timer = setTimeout(
        () => fail(new RemoteError({ reason: "timeout", message: `${from}: no ${what} after ${limitMs} ms` })),
        limitMs,
      );
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      start(
        (value) => {
          done();
          resolve(value);
        },
        (error) => {
          done();
          reject(error);
        },
      );
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
    });

  const ask = (request: Request, signal: AbortSignal): Promise<Payload> =>
    limited(to.request_timeout_ms, "answer", signal, (resolve, reject) => {
      if (broken !== null) return reject(broken);
      waiting = { resolve, reject };
      socket.send(messageOf(request));
    });

  const close = async (): Promise<void> => {
    // OpenEnv's server closes after the message; one that meets a closing socket instead logs an error for each episode.
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
    else socket.terminate();
    const timer = setTimeout(() => socket.terminate(), closeMs);
    await closed;
    clearTimeout(timer);
  };

  return limited<Channel>(to.connect_timeout_ms, "connection", signal, (resolve, reject) => {
    waiting = {
      resolve: () => undefined,
      reject: (error) =>
        reject(
          error.reason === "disconnected" ? new RemoteError({ reason: "unreachable", message: error.message }) : error,
        ),
    };
    socket.once("open", () => {
      waiting = null;
      resolve({ ask, close });
    });
  });
};
