/**
 * `/ws` of our server: one session per connection. Enters: a socket that stands; leaves: one answer per message, in order. Invariant: the
 * session's place is given back when the socket closes, whoever closes it.
 */
import { Result, Schema } from "effect";
import type { RawData, WebSocket } from "ws";
import * as Dialogue from "./Dialogue.ts";
import { type ErrorCode, type JsonObject, SocketRequest, socketTypes } from "./Protocol.ts";
import type { SessionTable } from "./SessionTable.ts";

export interface Served {
  readonly host: Dialogue.Host;
  readonly sessions: SessionTable;
  /** Seed of the next reset that names none. */
  readonly nextSeed: () => number;
  readonly maxMessageBytes: number;
}

const decodeRequest = Schema.decodeUnknownResult(SocketRequest, { onExcessProperty: "error" });

/** Errors after which OpenEnv's server goes on with the session. */
const goesOn: readonly ErrorCode[] = ["INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR"];

const errorMessage = ({ code, errors, message }: Dialogue.Refusal, more: JsonObject = {}): JsonObject => ({
  type: "error",
  data: { message, code, ...(errors === undefined ? {} : { errors }), ...more },
});

export const fullMessage = ({ active, max }: SessionTable): string =>
  `the server is full: ${active()} of ${max} sessions are taken`;

const typeOf = (message: unknown): string | null => {
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  return typeof message.type === "string" ? message.type : null;
};

export const attend = (socket: WebSocket, { host, maxMessageBytes, nextSeed, sessions }: Served): void => {
  let dialogue: Dialogue.Dialogue = null;
  const send = (message: JsonObject): void => {
    socket.send(JSON.stringify(message));
    // A client that sends without reading is not waited for.
    if (socket.bufferedAmount > 16 * maxMessageBytes) socket.terminate();
  };
  const end = (message: JsonObject): void => {
    send(message);
    socket.close(1000);
  };

  const place = sessions.enter(() =>
    end(errorMessage(Dialogue.refused("SESSION_ERROR", "the session was idle for too long"))),
  );
  // A message too long, a frame that is none: `ws` closes with the code that says so.
  socket.on("error", () => place?.leave());
  if (place === null) {
    const more = { active_sessions: sessions.active(), max_sessions: sessions.max };
    end(errorMessage(Dialogue.refused("CAPACITY_REACHED", fullMessage(sessions)), more));
    return;
  }
  socket.on("close", place.leave);

  const turn = ({ dialogue: next, reply }: Dialogue.Turn): Dialogue.Reply => {
    dialogue = next;
    return reply;
  };

  /** What a message comes to; null asks for the end. */
  const hear = (text: string): Dialogue.Reply | { readonly _tag: "State" } | null => {
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
    if (Result.isFailure(request)) return Dialogue.misfit("the message is not understood", request.failure);
    switch (request.success.type) {
      case "reset":
        return turn(Dialogue.reset(host, dialogue, request.success.data ?? {}, nextSeed));
      case "step":
        return turn(Dialogue.step(host, dialogue, request.success.data));
      case "state":
        return { _tag: "State" };
      case "close":
        return null;
    }
  };

  socket.on("message", (data: RawData) => {
    if (socket.readyState !== socket.OPEN) return;
    place.touch();
    const reply = hear(data.toString());
    if (reply?._tag === "State") return send({ type: "state", data: Dialogue.stateOf(dialogue) });
    if (reply?._tag === "Observed") return send({ type: "observation", data: reply.payload });
    if (reply !== null && goesOn.includes(reply.code)) return send(errorMessage(reply));
    // The place is free from here on, not only when both ends have said goodbye.
    place.leave();
    if (reply === null) socket.close(1000);
    else end(errorMessage(reply));
  });
};
