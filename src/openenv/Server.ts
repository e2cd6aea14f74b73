/**
 * Serves a pure environment by the OpenEnv protocol, over WebSocket and HTTP on one port, for as long as the scope lives. Steps run on this
 * thread, so one that hangs holds up every session. When the scope closes, every session is told and the port is free.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect, Schema, type Scope } from "effect";
import { WebSocketServer } from "ws";
import type { BoundEnvironment } from "../env/BoundEnvironment.ts";
import { type About, routesOf } from "./HttpRoute.ts";
import { httpListener, targetOf } from "./httpListener.ts";
import type { Served } from "./Served.ts";
import { makeSessionTable } from "./SessionTable.ts";
import { serveSocket } from "./SocketRoute.ts";

export interface ServerOptions {
  readonly environment: BoundEnvironment;
  readonly about: About;
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly maxSessions: number;
  /** A session that says nothing for so long is ended. */
  readonly idleMs: number;
  /** Steps of one episode at most. */
  readonly maxSteps: number;
  readonly maxMessageBytes: number;
}

export interface Serving {
  /** Address for HTTP; that of the socket is the same with ws and `/ws`. */
  readonly url: string;
  readonly port: number;
  readonly sessions: () => number;
}

/** The port cannot be had. `code` is the system's: EADDRINUSE, EACCES, ... */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  code: Schema.String,
}) {}

/** How long clients may take to close their end. */
const goodbyeMs = 1_000;

const listen = (server: Server, host: string, port: number): Effect.Effect<number, ListenFailed> =>
  Effect.callback<number, ListenFailed>((resume) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new ListenFailed({ host, port, code: error.code ?? error.message }))),
    );
    server.listen(port, host, () => resume(Effect.succeed((server.address() as AddressInfo).port)));
  });

const closeAll = (server: Server, sockets: WebSocketServer): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    for (const socket of sockets.clients) socket.close(1001, "the server ends");
    const timer = setTimeout(() => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
    }, goodbyeMs);
    sockets.close();
    server.close(() => {
      clearTimeout(timer);
      resume(Effect.void);
    });
    server.closeIdleConnections();
  });

/** Hands sockets for `/ws` over to sessions, and answers every other upgrade with 404. */
const acceptSockets = (server: Server, served: Served): WebSocketServer => {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: served.maxMessageBytes, perMessageDeflate: false });
  server.on("upgrade", (request, socket, head) => {
    if (targetOf(request.url).path !== "/ws") {
      // Without a listener a client that hangs up now would end the process.
      socket.on("error", () => socket.destroy());
      return socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n");
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => serveSocket(accepted, served));
  });
  return sockets;
};

export const serve = (options: ServerOptions): Effect.Effect<Serving, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { about, environment, host, idleMs, maxMessageBytes, maxSessions, maxSteps } = options;
    const sessions = makeSessionTable({ idleMs, max: maxSessions });
    let unseeded = 0;
    const served: Served = {
      host: { environment, maxSteps },
      sessions,
      nextSeed: () => unseeded++,
      maxMessageBytes,
    };
    const server = createServer(yield* httpListener(routesOf(served, about), maxMessageBytes));
    const sockets = acceptSockets(server, served);
    const port = yield* Effect.acquireRelease(listen(server, host, options.port), () => closeAll(server, sockets));
    const name = host.includes(":") ? `[${host}]` : host;
    return { url: `http://${name}:${port}`, port, sessions: sessions.active };
  });
