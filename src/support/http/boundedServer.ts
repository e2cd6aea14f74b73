/**
 * Node's HTTP server with the limits that all our servers share. Invariant: clients take a bounded number of connections, a
 * request's head arrives within five seconds, and slow clients do not shut out one whose request is whole.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Duplex } from "node:stream";
import { Connections } from "./Connections.ts";

export interface ServerLimits {
  /** The largest number of connections. */
  readonly connections: number;
  /** Milliseconds after which an unfinished request is answered with 408. */
  readonly requestMs: number;
  /** Milliseconds that a connection may stay open between two requests. */
  readonly keepAliveMs: number;
}

export interface ServerHandlers {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes over connections that change their protocol. Without it, such a request is handled like any other. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Contents of a certificate and its key. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Milliseconds that the head of a request, or the handshake before it, may take. */
export const longestHeadMs = 5_000;
const maxHeaderSize = 16 * 1_024;
/** Connections closed to make room that the event loop has not released yet: as many as may wait to be accepted. */
const mostClosing = 511;

const optionsOf = ({ keepAliveMs, requestMs }: ServerLimits) => {
  const headMs = Math.min(longestHeadMs, requestMs);
  return {
    requestTimeout: requestMs,
    headersTimeout: headMs,
    // The interval at which Node looks for slow requests.
    connectionsCheckingInterval: Math.max(20, Math.min(1_000, Math.ceil(headMs / 4))),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize,
  };
};

/** Milliseconds that a connection may carry nothing, such as that of a client that reads no answer. */
export const idleTimeoutMs = ({ keepAliveMs, requestMs }: ServerLimits): number => requestMs + keepAliveMs;

/** Makes the server, which does not listen yet; with a certificate it uses TLS. */
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
  // Bytes bound the headers. A bound on their number would drop a header unseen, perhaps one that the guard reads.
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
