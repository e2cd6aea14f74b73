/** Scripted servers that speak OpenEnv as badly as a test asks: each is told what to do with every message. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

export interface StandIn {
  readonly url: string;
  /** Connections made so far. */
  readonly connections: () => number;
  /** Connections open at the moment. */
  readonly open: () => number;
  readonly close: () => Promise<void>;
}

export interface Script {
  /** Called with each socket as it is accepted. */
  readonly accept?: (socket: WebSocket, nth: number) => void;
  readonly hear?: (socket: WebSocket, message: { type: string; data: Record<string, unknown> }, nth: number) => void;
  readonly http?: (request: IncomingMessage, body: string, response: ServerResponse) => void;
  /** The upgrade itself is refused with this status. */
  readonly refuse?: number;
}

export const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
};

export const say = (socket: WebSocket, message: unknown): void => socket.send(JSON.stringify(message));

export const observe = (socket: WebSocket, observation: object, reward: unknown = null, done = false): void =>
  say(socket, { type: "observation", data: { observation, reward, done } });

const healthy = (request: IncomingMessage, _body: string, response: ServerResponse): void => {
  if (request.url === "/health") json(response, 200, { status: "healthy" });
  else json(response, 404, { detail: "Not Found" });
};

export const standIn = async ({ accept, hear, http = healthy, refuse }: Script): Promise<StandIn> => {
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => http(request, Buffer.concat(chunks).toString(), response));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (refuse !== undefined) return socket.end(`HTTP/1.1 ${refuse} No\r\nconnection: close\r\n\r\n`);
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const nth = connections++;
      accepted.on("error", () => undefined);
      accepted.on("message", (data) => {
        const message = JSON.parse(data.toString());
        if (message.type === "close") accepted.close();
        else hear?.(accepted, message, nth);
      });
      accept?.(accepted, nth);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    open: () => sockets.clients.size,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
