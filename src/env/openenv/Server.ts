/**
 * Serves a pure environment by the OpenEnv protocol, over WebSocket and HTTP on one port, while the scope lives. Steps run on this thread, so one
 * that hangs holds up every session. Invariant: connections, sessions, the time and bytes of a request, and the bytes of all unfinished
 * requests are bounded. When the scope closes, every session is closed and the port is free.
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Effect, type Scope } from "effect";
import { WebSocketServer } from "ws";
import { makeByteBudget } from "../../support/http/ByteBudget.ts";
import type { Guard } from "../../support/http/Guard.ts";
import type { ListenFailed } from "../../support/http/listen.ts";
import type { Problem } from "../../support/http/Problem.ts";
import * as Http from "../../support/http/serve.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import { failed } from "./HttpAnswer.ts";
import { replyOf, routesOf, type ServerMetadata } from "./HttpRoute.ts";
import type { ServerContext } from "./ServerContext.ts";
import { makeSessionTable } from "./SessionTable.ts";
import { serveSocket } from "./SocketRoute.ts";

export interface ServerOptions {
  readonly environment: BoundEnvironment;
  readonly about: ServerMetadata;
  readonly host: string;
  /** The port; 0 takes any free one. */
  readonly port: number;
  readonly maxSessions: number;
  /** A session that sends nothing for so many milliseconds is ended. */
  readonly idleMs: number;
  /** The most steps of one episode. */
  readonly maxSteps: number;
  readonly maxMessageBytes: number;
  /** The most connections at once. */
  readonly maxConnections: number;
  /** The most bytes of all messages that are not whole yet, and of all answers that are not read yet. */
  readonly maxBufferedBytes: number;
  /** A request that has not arrived after so many milliseconds is given up. */
  readonly requestMs: number;
  readonly guard: Guard;
}

/** A running server. Its address is for HTTP; the socket's address is the same with ws and `/ws`. */
export interface Serving extends Http.ListeningServer {
  readonly sessions: () => number;
  /** Returns the bytes that are held for clients now. */
  readonly buffered: () => number;
}

/** Clients may take so many milliseconds to close their end. */
const goodbyeMs = 1_000;
/** A connection may stay open for so many milliseconds between two requests. */
const keepAliveMs = 5_000;
/** Limits of `ws`: the pieces of one message as frames and as reads of the stream, and the time for a client to close its end. */
const socketLimits = { maxFragments: 256, maxBufferedChunks: 4_096, closeTimeout: goodbyeMs } as const;

const makeSockets = (maxPayload: number): WebSocketServer =>
  new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false, ...socketLimits });

const closeSockets = (sockets: WebSocketServer): void => {
  for (const socket of sockets.clients) socket.close(1001, "the server ends");
  sockets.close();
};

const replyToProblem = ({ flag, message, status }: Problem) =>
  replyOf(failed(status, flag === undefined ? message : `${message}; ${flag}`));

export const serveEnvironment = (options: ServerOptions): Effect.Effect<Serving, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { about, environment, guard, host, idleMs, maxMessageBytes, maxSessions, maxSteps, port } = options;
    const sessions = makeSessionTable({ idleMs, max: maxSessions });
    const budget = makeByteBudget(options.maxBufferedBytes);
    let unseeded = 0;
    const context: ServerContext = {
      host: { environment, maxSteps },
      sessions,
      nextSeed: () => unseeded++,
      maxMessageBytes,
      budget,
    };
    const sockets = makeSockets(maxMessageBytes);
    const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void =>
      sockets.handleUpgrade(request, socket, head, (accepted) => serveSocket(accepted, socket, context));
    const serving = yield* Http.serve({
      host,
      port,
      limits: {
        connections: options.maxConnections,
        requestMs: options.requestMs,
        keepAliveMs,
        body: { maxBytes: maxMessageBytes, budget },
      },
      guard,
      routes: routesOf(context, about),
      upgrades: { "/ws": upgrade },
      renderError: replyToProblem,
      onClose: () => closeSockets(sockets),
      closeGraceMs: goodbyeMs,
    });
    return { ...serving, sessions: sessions.active, buffered: budget.usedBytes };
  });
