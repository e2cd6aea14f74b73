/**
 * Serves a pure environment by the OpenEnv protocol, over WebSocket and HTTP on one port, for as long as the scope lives. Steps run on this
 * thread, so one that hangs holds up every session. What clients may take of this process is bounded: connections, sessions, the time and
 * the bytes of a request, and the bytes of all unfinished ones together. When the scope closes, every session is told and the port is free.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { Effect, type Scope } from "effect";
import { WebSocketServer } from "ws";
import { makeByteBudget } from "../../support/http/ByteBudget.ts";
import { boundedServer } from "../../support/http/boundedServer.ts";
import type { Guard } from "../../support/http/Guard.ts";
import { type ListenFailed, listen } from "../../support/http/listen.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import { failed } from "./Answer.ts";
import { gated, socketRefusal, turnAway } from "./Gate.ts";
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
  /** Connections at once. */
  readonly maxConnections: number;
  /** Bytes of all messages that are not whole yet, and of all answers that are not read yet. */
  readonly maxBufferedBytes: number;
  /** A request that has not arrived after so long is given up. */
  readonly requestMs: number;
  readonly guard: Guard;
}

export interface Serving {
  /** Address for HTTP; that of the socket is the same with ws and `/ws`. */
  readonly url: string;
  readonly port: number;
  readonly sessions: () => number;
  /** Bytes held for clients at the moment. */
  readonly buffered: () => number;
}

/** How long clients may take to close their end. */
const goodbyeMs = 1_000;
/** How long a connection may stay open between two requests. */
const keepAliveMs = 5_000;
/** Limits of `ws`: pieces of one message as frames and as reads of the stream, and how long a client may take to close its end. */
const socketLimits = { maxFragments: 256, maxBufferedChunks: 4_096, closeTimeout: goodbyeMs } as const;

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

/** Hands sockets for `/ws` over to sessions, and answers every other upgrade with a status. */
const socketAcceptor =
  (sockets: WebSocketServer, served: Served, guard: Guard) =>
  (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const refusal = socketRefusal(guard, request);
    if (refusal !== null) turnAway(socket, "Refused", refusal);
    else if (targetOf(request.url).path !== "/ws") turnAway(socket, "Not Found", failed(404, "Not Found"));
    else sockets.handleUpgrade(request, socket, head, (accepted) => serveSocket(accepted, socket, served));
  };

export const serve = (options: ServerOptions): Effect.Effect<Serving, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { about, environment, guard, host, idleMs, maxMessageBytes, maxSessions, maxSteps } = options;
    const sessions = makeSessionTable({ idleMs, max: maxSessions });
    const budget = makeByteBudget(options.maxBufferedBytes);
    let unseeded = 0;
    const served: Served = {
      host: { environment, maxSteps },
      sessions,
      nextSeed: () => unseeded++,
      maxMessageBytes,
      budget,
    };
    const listener = yield* httpListener(routesOf(served, about), { most: maxMessageBytes, budget });
    const sockets = new WebSocketServer({
      noServer: true,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      ...socketLimits,
    });
    const server = boundedServer(
      { connections: options.maxConnections, requestMs: options.requestMs, keepAliveMs },
      { onRequest: gated(guard, listener), onUpgrade: socketAcceptor(sockets, served, guard) },
    );
    const port = yield* Effect.acquireRelease(listen(server, host, options.port), () => closeAll(server, sockets));
    const name = host.includes(":") ? `[${host}]` : host;
    return { url: `http://${name}:${port}`, port, sessions: sessions.active, buffered: budget.held };
  });
