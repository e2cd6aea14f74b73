/**
 * Node's HTTP server with the limits that all servers of ours share. Invariant: whatever clients do, they take a bounded number of connections,
 * a head comes within five seconds, and clients that are slow with their requests do not shut out one whose request is whole.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { Connections } from "./Connections.ts";

export interface ServerLimits {
  /** Connections at once. */
  readonly connections: number;
  /** A request that is not whole after so long is answered with 408. */
  readonly requestMs: number;
  /** How long a connection may stay open between two requests. */
  readonly keepAliveMs: number;
}

export interface ServerHandlers {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes over connections that change their protocol; without it such a request is one like any other. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Contents of a certificate and its key. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The longest that the head of a request, or the handshake before it, may take. */
export const longestHeadMs = 5_000;
const maxHeaderSize = 16 * 1_024;
/** Connections that were closed to make room and that the event loop has not let go of yet: as many as may wait to be accepted. */
const mostClosing = 511;

const optionsOf = ({ keepAliveMs, requestMs }: ServerLimits) => {
  const headMs = Math.min(longestHeadMs, requestMs);
  return {
    requestTimeout: requestMs,
    headersTimeout: headMs,
    // Node looks for slow requests only so often.
    connectionsCheckingInterval: Math.max(20, Math.min(1_000, Math.ceil(headMs / 4))),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize,
  };
};

/** How long a connection may carry nothing, as that of a client that reads no answer does. */
export const idleTimeoutMs = ({ keepAliveMs, requestMs }: ServerLimits): number => requestMs + keepAliveMs;

/** The server, not yet listening; over TLS where there is a certificate. */
export const boundedServer = (
  limits: ServerLimits,
  { onRequest, onUpgrade }: ServerHandlers,
  certificate: Certificate | null = null,
): Server => {
  const options = optionsOf(limits);
  const server: Server =
    certificate === null
      ? createServer(options)
      : createSecureServer({ ...options, ...certificate, handshakeTimeout: options.headersTimeout });
  const connections = new Connections(limits.connections);
  server.maxConnections = limits.connections + mostClosing;
  // Bounded by their bytes: a header beyond a number would be dropped unseen, and with it perhaps one that the guard reads.
  server.maxHeadersCount = 0;
  server.timeout = idleTimeoutMs(limits);
  server.on("connection", (socket) => connections.accept(socket));
  server.on("request", (request, response) => {
    if (connections.beginRequest(request, response)) onRequest(request, response);
  });
  if (onUpgrade !== undefined) {
    server.on("upgrade", (request, socket, head) => {
      connections.upgrade(request);
      onUpgrade(request, socket, head);
    });
  }
  return server;
};
