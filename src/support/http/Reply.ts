/**
 * A server's reply as a value, and the function that sends it. Invariant: a client that hangs up ends its own reply and nothing
 * else.
 */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Effect } from "effect";

/** Writes a body over time, until it ends the response or the client leaves. */
export type BodyWriter = (response: ServerResponse) => void;

export interface Reply {
  readonly status: number;
  /** Header names in lower case. The length of a text or of bytes is added. */
  readonly headers?: Headers;
  /** A stream is sent as fast as the client reads it. */
  readonly body?: string | Uint8Array | Readable | BodyWriter;
}

export type Headers = Readonly<Record<string, string>>;

const isSized = (body: Reply["body"]): body is string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array;

const headersOf = ({ body, headers }: Reply): Headers =>
  isSized(body) ? { ...headers, "content-length": String(Buffer.byteLength(body)) } : { ...headers };

/** Sends a reply, without its body if `bodiless`. */
export const sendReply = (response: ServerResponse, reply: Reply, bodiless: boolean): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { body, status } = reply;
    const isStream = body !== undefined && !isSized(body) && typeof body !== "function";
    if (response.destroyed || bodiless) {
      if (isStream) body.destroy();
      if (!response.destroyed) response.writeHead(status, headersOf(reply)).end();
      return Effect.void;
    }
    response.writeHead(status, headersOf(reply));
    if (isStream) return Effect.promise(() => pipeline(body, response).catch(() => undefined));
    if (typeof body === "function") body(response);
    else response.end(body);
    return Effect.void;
  });

/** Answers a refused request for another protocol, and closes the connection. */
export const rejectUpgrade = (socket: Duplex, reply: Reply & { readonly body: string }): void => {
  // Without a listener, a client that hangs up now would end the process.
  socket.on("error", () => socket.destroy());
  const lines = Object.entries(headersOf(reply)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ""}\r\n${lines.join("")}\r\n`;
  socket.end(head + reply.body, () => socket.destroy());
};
