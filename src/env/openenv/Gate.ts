/**
 * Stands before the routes and the sockets of a server: a request that the guard refuses reaches neither, and is answered here with its
 * connection closed, so that nothing more of it is read.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Asking, asksFirst, crossOrigin, type Guard, refusalOf } from "../../support/http/Guard.ts";
import { type Answer, failed } from "./Answer.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** The guard's refusal in OpenEnv's form of an error. */
const refusalFor = (guard: Guard, asking: Asking): Answer | null => {
  const refusal = refusalOf(guard, asking);
  if (refusal === null) return null;
  const { flag, status, why } = refusal;
  return failed(status, flag === undefined ? why : `${why}; ${flag}`);
};

const askingOf = ({ headers, headersDistinct, method = "" }: IncomingMessage): Asking => ({
  method,
  headers,
  distinct: headersDistinct,
});

const headersOf = ({ status }: Answer, body: string): Readonly<Record<string, string | number>> => ({
  connection: "close",
  "content-type": "application/json",
  "content-length": Buffer.byteLength(body),
  ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
});

const refuse = (response: ServerResponse, answer: Answer): void => {
  const body = JSON.stringify(answer.body);
  response.writeHead(answer.status, headersOf(answer, body)).end(body);
};

/** `listen`, for the requests that the guard lets through. */
export const gated =
  (guard: Guard, listen: Listener): Listener =>
  (request, response) => {
    const asking = askingOf(request);
    // A whole address as the target is what a proxy is asked for; it could name another host than the header does.
    const refusal = request.url?.startsWith("/") ? refusalFor(guard, asking) : failed(404, "Not Found");
    if (refusal !== null) return refuse(response, refusal);
    response.setHeaders(new Map(Object.entries(crossOrigin(guard, asking))));
    if (asksFirst(asking)) return void response.writeHead(204).end();
    listen(request, response);
  };

/** Answers a request for a socket that is not had, and hangs up. */
export const turnAway = (socket: Duplex, reason: string, answer: Answer): void => {
  // Without a listener a client that hangs up now would end the process.
  socket.on("error", () => socket.destroy());
  const body = JSON.stringify(answer.body);
  const headers = Object.entries(headersOf(answer, body)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${answer.status} ${reason}\r\n${headers.join("")}\r\n${body}`, () => socket.destroy());
};

/** Why a request for a socket is refused, or null. */
export const socketRefusal = (guard: Guard, request: IncomingMessage): Answer | null =>
  refusalFor(guard, askingOf(request));
