/**
 * The route `/ws` of our server: one session per connection, one answer per message, in order. Invariant: a session gives its place back when the
 * socket closes, whichever side closes it. A socket whose unfinished messages and unread answers exceed the server's budget is cut off.
 * The sockets are those of `ws`, because Effect's `Socket` has neither `bufferedAmount` nor `terminate`.
 */
import type { Duplex } from "node:stream";
import { Result, Schema } from "effect";
import type { RawData, WebSocket } from "ws";
import type { Share } from "../../support/http/ByteBudget.ts";
import { type ErrorCode, type JsonObject, SocketRequest, socketTypes } from "./Protocol.ts";
import { fullMessage, type ServerContext } from "./ServerContext.ts";
import * as SessionState from "./SessionState.ts";
import type { SessionPlace } from "./SessionTable.ts";

const decodeRequest = Schema.decodeUnknownResult(SocketRequest, { onExcessProperty: "error" });

/** The errors after which OpenEnv's server goes on with the session. */
const recoverableErrors: readonly ErrorCode[] = ["INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR"];

const errorMessage = ({ code, errors, message }: SessionState.Refusal, more: JsonObject = {}): JsonObject => ({
  type: "error",
  data: { message, code, ...(errors === undefined ? {} : { errors }), ...more },
});

const typeOf = (message: unknown): string | null => {
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  return typeof message.type === "string" ? message.type : null;
};

const readRequest = (text: string): SocketRequest | SessionState.Refusal => {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return SessionState.refusalOf("INVALID_JSON", "the message is no JSON");
  }
  const type = typeOf(message);
  if (type === null || !(socketTypes as readonly string[]).includes(type)) {
    const names = socketTypes.join(", ");
    return SessionState.refusalOf("UNKNOWN_TYPE", `unknown message type ${JSON.stringify(type)}; known: ${names}`);
  }
  const request = decodeRequest(message);
  return Result.isSuccess(request)
    ? request.success
    : SessionState.schemaRefusal("the message is not understood", request.failure);
};

class SocketSession {
  readonly #socket: WebSocket;
  readonly #context: ServerContext;
  readonly #place: SessionPlace;
  readonly #unread: Share;
  #session: SessionState.SessionState = null;

  constructor(socket: WebSocket, context: ServerContext, place: SessionPlace) {
    this.#socket = socket;
    this.#context = context;
    this.#place = place;
    this.#unread = context.budget.openShare();
    socket.once("close", () => this.#unread.release());
  }

  receive(text: string): void {
    this.#place.touch();
    const request = readRequest(text);
    if ("_tag" in request) this.#reply(request);
    else this.#serve(request);
  }

  #serve(request: SocketRequest): void {
    const { host, nextSeed } = this.#context;
    switch (request.type) {
      case "reset":
        this.#advance(SessionState.reset(host, this.#session, request.data ?? {}, nextSeed));
        break;
      case "step":
        this.#advance(SessionState.step(host, this.#session, request.data));
        break;
      case "state":
        this.#send({ type: "state", data: SessionState.stateOf(this.#session) });
        break;
      case "close":
        this.#end();
    }
  }

  #send(message: JsonObject): void {
    const socket = this.#socket;
    socket.send(JSON.stringify(message), () => this.#unread.resize(socket.bufferedAmount));
    // A client that sends and does not read is cut off.
    const most = 16 * this.#context.maxMessageBytes;
    if (socket.bufferedAmount > most || !this.#unread.resize(socket.bufferedAmount)) socket.terminate();
  }

  #advance({ session, reply }: SessionState.SessionChange): void {
    this.#session = session;
    this.#reply(reply);
  }

  #reply(reply: SessionState.Reply): void {
    if (reply._tag === "Observed") {
      this.#send({ type: "observation", data: reply.payload });
      return;
    }
    this.#send(errorMessage(reply));
    if (!recoverableErrors.includes(reply.code)) this.#end();
  }

  /** Ends the session. Its place is free at once, not only when both ends have closed. */
  #end(): void {
    this.#place.leave();
    this.#socket.close(1000);
  }
}

/** The memory of a piece of a message beside its bytes. */
const pieceOverhead = 256;

/**
 * Counts the bytes since the last whole message against the budget. `ws` does not expose its count, so the bytes are counted on the stream below
 * it, after `ws` has seen them. A part of a piece that completes a message may belong to the next one, and is not counted.
 */
const limitArrivals = (socket: WebSocket, stream: Duplex, { budget }: ServerContext): void => {
  const share = budget.openShare();
  let pendingBytes = 0;
  const resetCount = (): void => {
    pendingBytes = 0;
  };
  for (const event of ["message", "ping", "pong"] as const) socket.on(event, resetCount);
  stream.on("data", (piece: Buffer) => {
    pendingBytes += piece.byteLength + pieceOverhead;
    if (!share.resize(pendingBytes)) socket.terminate();
  });
  socket.once("close", share.release);
};

/** Serves a session on an open socket, or reports that the server is full and closes it. */
export const serveSocket = (socket: WebSocket, stream: Duplex, context: ServerContext): void => {
  const { sessions } = context;
  limitArrivals(socket, stream, context);
  const end = (refusal: SessionState.Refusal, more?: JsonObject): void => {
    socket.send(JSON.stringify(errorMessage(refusal, more)));
    socket.close(1000);
  };
  const place = sessions.enter(() => end(SessionState.refusalOf("SESSION_ERROR", "the session was idle for too long")));
  // On a message that is too long, or a frame that is not valid, `ws` closes the socket with the code for it.
  socket.on("error", () => place?.leave());
  if (place === null) {
    const more = { active_sessions: sessions.active(), max_sessions: sessions.max };
    end(SessionState.refusalOf("CAPACITY_REACHED", fullMessage(sessions)), more);
    return;
  }
  const session = new SocketSession(socket, context, place);
  socket.on("close", place.leave);
  socket.on("message", (data: RawData) => {
    if (socket.readyState === socket.OPEN) session.receive(data.toString());
  });
};
