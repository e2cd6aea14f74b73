/**
 * A session over `/ws`. Answers carry no id, so a late, unexpected or unreadable answer ends the channel: the next one could be taken for the wrong
 * request. The socket is that of `ws`, because Effect's `Socket` cannot be terminated and would wait for a server that no longer answers.
 */
import { Schema } from "effect";
import { type RawData, WebSocket } from "ws";
import {
  type Channel,
  type ChannelRequest,
  decodeOrThrow,
  makeReceiptLimit,
  parseJson,
  serverError,
} from "./Channel.ts";
import { type Connection, credentials } from "./Connection.ts";
import { addressOf, type Payload, SocketAnswer } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

/** A server may take so many milliseconds to close its end. */
const closeMs = 500;

const decodeAnswer = Schema.decodeUnknownResult(SocketAnswer);

const textOf = (data: RawData): string =>
  Array.isArray(data) ? Buffer.concat(data).toString() : Buffer.from(data as Buffer).toString();

const requestMessage = (request: ChannelRequest): string =>
  JSON.stringify(
    request._tag === "Reset" ? { type: "reset", data: request.data } : { type: "step", data: request.action },
  );

/** The payload in a message. It throws a `RemoteError` if the message has none. */
const payloadOf = (text: string, from: string): Payload => {
  const answer = decodeOrThrow(decodeAnswer(parseJson(text, from)), text, from);
  switch (answer.type) {
    case "observation":
      return answer.data;
    case "error":
      throw serverError(from, answer.data.code ?? "an error", answer.data.message ?? "without a message");
    case "state":
      throw new RemoteError({ reason: "nonsense", message: `${from} sent a state nobody asked for` });
  }
};

/** The failures that a server reports by a message, after which the socket is in order. */
const sessionErrors: readonly RemoteError["reason"][] = ["capacity", "invalid", "refused"];

/** The request that waits for the next answer. */
interface PendingAnswer {
  readonly resolve: (payload: Payload) => void;
  readonly reject: (error: RemoteError) => void;
}

class WebSocketChannel implements Channel {
  readonly #to: Connection;
  readonly #from: string;
  readonly #socket: WebSocket;
  readonly #receive: (bytes: number) => void;
  readonly #closed: Promise<void>;
  #broken: RemoteError | null = null;
  #pending: PendingAnswer | null = null;

  constructor(to: Connection) {
    this.#to = to;
    this.#from = addressOf(to.url, "ws", "/ws");
    this.#receive = makeReceiptLimit(to, this.#from);
    const socket = new WebSocket(this.#from, {
      maxPayload: to.max_message_bytes,
      perMessageDeflate: false,
      headers: credentials(to),
    });
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("message", (data, binary) => {
      if (binary) this.#fail("nonsense", `${this.#from} sent binary data`);
      else if (this.#broken === null) this.#read(textOf(data));
    });
    socket.on("close", (code) => this.#fail("disconnected", `${this.#from} closed the session (${code})`));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") {
        this.#fail("limit", `${this.#from}: a message longer than ${to.max_message_bytes} bytes`);
      } else this.#fail("disconnected", `${this.#from}: ${error.message}`);
    });
  }

  /** Resolves once the socket is open. */
  opened(signal: AbortSignal): Promise<void> {
    return this.#limited(this.#to.connect_timeout_ms, "connection", signal, (resolve, reject) => {
      this.#pending = {
        resolve: () => undefined,
        reject: ({ message, reason }) =>
          reject(new RemoteError({ reason: reason === "disconnected" ? "unreachable" : reason, message })),
      };
      this.#socket.once("open", () => {
        this.#pending = null;
        resolve();
      });
    });
  }

  request(request: ChannelRequest, signal: AbortSignal): Promise<Payload> {
    return this.#limited(this.#to.request_timeout_ms, "answer", signal, (resolve, reject) => {
      if (this.#broken !== null) {
        reject(this.#broken);
        return;
      }
      this.#pending = { resolve, reject };
      this.#socket.send(requestMessage(request));
    });
  }

  async close(): Promise<void> {
    // OpenEnv's server closes after the message; one that meets a closing socket instead logs an error for each episode.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: "close" }));
    else this.#socket.terminate();
    const timer = setTimeout(() => this.#socket.terminate(), closeMs);
    await this.#closed;
    clearTimeout(timer);
  }

  #take(): PendingAnswer | null {
    const waiting = this.#pending;
    this.#pending = null;
    return waiting;
  }

  /** Ends the channel; every later request is rejected with the first failure. */
  #fail(reason: RemoteError["reason"], message: string): void {
    this.#broken ??= new RemoteError({ reason, message });
    this.#take()?.reject(this.#broken);
    this.#socket.terminate();
  }

  #read(text: string): void {
    try {
      this.#receive(Buffer.byteLength(text));
      const payload = payloadOf(text, this.#from);
      const waiting = this.#take();
      if (waiting === null) this.#fail("nonsense", `${this.#from} sent an answer nobody asked for`);
      else waiting.resolve(payload);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      // An error that the server reports leaves the socket in order, and the caller closes it.
      if (this.#pending !== null && sessionErrors.includes(error.reason)) this.#take()?.reject(error);
      else this.#fail(error.reason, error.message);
    }
  }

  /** Runs `start` until it settles, the time is up, `signal` is aborted, or the channel fails. */
  #limited<A>(
    limitMs: number,
    what: string,
    signal: AbortSignal,
    start: (resolve: (value: A) => void, reject: (error: RemoteError) => void) => void,
  ): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      const abort = (): void => this.#fail("aborted", `${this.#from}: ${what} was given up`);
      const timer = setTimeout(() => this.#fail("timeout", `${this.#from}: no ${what} after ${limitMs} ms`), limitMs);
      const settled =
        <B>(settle: (value: B) => void) =>
        (value: B): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          settle(value);
        };
      start(settled(resolve), settled(reject));
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
    });
  }
}

export const open = async (to: Connection, signal: AbortSignal): Promise<Channel> => {
  const channel = new WebSocketChannel(to);
  await channel.opened(signal);
  return channel;
};
