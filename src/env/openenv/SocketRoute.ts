/**
 * `/ws` of our server: one session per connection, one answer per message, in order. The session's place in the table is given back when
 * the socket closes, whichever side closes it.
 *
 * The sockets are `ws`'s own and not Effect's `Socket`, which has neither `bufferedAmount` nor `terminate`: without the first a client that
 * sends and never reads would fill the server's memory, and without the second one that does not say goodbye would hold the port. What a
 * message has so far, and what a client has not read, is held within the server's budget; a socket beyond it is cut off.
 */
import type { Duplex } from "node:stream";
import { Result, Schema } from "effect";
import type { RawData, WebSocket } from "ws";
import type { Share } from "../../support/http/ByteBudget.ts";
import * as Dialogue from "./Dialogue.ts";
import { type ErrorCode, type JsonObject, SocketRequest, socketTypes } from "./Protocol.ts";
import { fullMessage, type Served } from "./Served.ts";
import type { Place } from "./SessionTable.ts";

const decodeRequest = Schema.decodeUnknownResult(SocketRequest, { onExcessProperty: "error" });

/** Errors after which OpenEnv's server goes on with the session. */
const goesOn: readonly ErrorCode[] = ["INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR"];

const errorMessage = ({ code, errors, message }: Dialogue.Refusal, more: JsonObject = {}): JsonObject => ({
  type: "error",
  data: { message, code, ...(errors === undefined ? {} : { errors }), ...more },
});

const typeOf = (message: unknown): string | null => {
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  return typeof message.type === "string" ? message.type : null;
};

const readRequest = (text: string): SocketRequest | Dialogue.Refusal => {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return Dialogue.refused("INVALID_JSON", "the message is no JSON");
  }
  const type = typeOf(message);
  if (type === null || !(socketTypes as readonly string[]).includes(type)) {
    const known = socketTypes.join(", ");
    return Dialogue.refused("UNKNOWN_TYPE", `unknown message type ${JSON.stringify(type)}; known: ${known}`);
  }
  const request = decodeRequest(message);
  return Result.isSuccess(request)
    ? request.success
    : Dialogue.misfit("the message is not understood", request.failure);
};

class SocketSession {
  readonly #socket: WebSocket;
  readonly #served: Served;
  readonly #place: Place;
  readonly #unread: Share;
  #dialogue: Dialogue.Dialogue = null;

  constructor(socket: WebSocket, served: Served, place: Place) {
    this.#socket = socket;
    this.#served = served;
    this.#place = place;
    this.#unread = served.budget.openShare();
    socket.once("close", () => this.#unread.release());
  }

  receive(text: string): void {
    this.#place.touch();
    const request = readRequest(text);
    if ("_tag" in request) this.#reply(request);
    else this.#serve(request);
  }

  #serve(request: SocketRequest): void {
    const { host, nextSeed } = this.#served;
    switch (request.type) {
      case "reset":
        this.#turn(Dialogue.reset(host, this.#dialogue, request.data ?? {}, nextSeed));
        break;
      case "step":
        this.#turn(Dialogue.step(host, this.#dialogue, request.data));
        break;
      case "state":
        this.#send({ type: "state", data: Dialogue.stateOf(this.#dialogue) });
        break;
      case "close":
        this.#end();
    }
  }

  #send(message: JsonObject): void {
    const socket = this.#socket;
    socket.send(JSON.stringify(message), () => this.#unread.resize(socket.bufferedAmount));
    // A client that sends and does not read is cut off.
    const most = 16 * this.#served.maxMessageBytes;
    if (socket.bufferedAmount > most || !this.#unread.resize(socket.bufferedAmount)) socket.terminate();
  }

  #turn({ dialogue, reply }: Dialogue.Turn): void {
    this.#dialogue = dialogue;
    this.#reply(reply);
  }

  #reply(reply: Dialogue.Reply): void {
    if (reply._tag === "Observed") {
      this.#send({ type: "observation", data: reply.payload });
      return;
    }
    this.#send(errorMessage(reply));
    if (!goesOn.includes(reply.code)) this.#end();
  }

  /** The place is free from here on, not only when both ends have closed. */
  #end(): void {
    this.#place.leave();
    this.#socket.close(1000);
  }
}

/** What a piece of a message costs beside its bytes. */
const pieceOverhead = 256;

/**
 * Holds in the budget what has arrived since the last whole message. `ws` keeps its count to itself, so the bytes are counted on the
 * stream below it, after `ws` has seen them: of a piece that completes a message, a part may belong to the next one.
 */
const countArrivals = (socket: WebSocket, stream: Duplex, { budget }: Served): void => {
  const share = budget.openShare();
  let held = 0;
  const whole = (): void => {
    held = 0;
  };
  for (const event of ["message", "ping", "pong"] as const) socket.on(event, whole);
  stream.on("data", (piece: Buffer) => {
    held += piece.byteLength + pieceOverhead;
    if (!share.resize(held)) socket.terminate();
  });
  socket.once("close", share.release);
};

/** Serves a session on a socket that is open, or says that the server is full and closes it. */
export const serveSocket = (socket: WebSocket, stream: Duplex, served: Served): void => {
  const { sessions } = served;
  countArrivals(socket, stream, served);
  const end = (refusal: Dialogue.Refusal, more?: JsonObject): void => {
    socket.send(JSON.stringify(errorMessage(refusal, more)));
    socket.close(1000);
  };
  const place = sessions.enter(() => end(Dialogue.refused("SESSION_ERROR", "the session was idle for too long")));
  // On a message that is too long, or a frame that is not valid, `ws` closes the socket with the code for it.
  socket.on("error", () => place?.leave());
  if (place === null) {
    const more = { active_sessions: sessions.active(), max_sessions: sessions.max };
    end(Dialogue.refused("CAPACITY_REACHED", fullMessage(sessions)), more);
    return;
  }
  const session = new SocketSession(socket, served, place);
  socket.on("close", place.leave);
  socket.on("message", (data: RawData) => {
    if (socket.readyState === socket.OPEN) session.receive(data.toString());
  });
};
