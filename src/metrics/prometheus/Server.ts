/**
 * A small HTTP server that answers one path with one text. Invariant: what clients do (leave a request half sent, stop reading, come in
 * crowds) costs a bounded number of connections and no wait of the run.
 */
import { createServer, type RequestListener, type Server } from "node:http";

export interface Address {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

const CONNECTIONS = 64;
const REQUEST_MS = 5_000;
const IDLE_MS = 30_000;

/** Answers GET and HEAD of `path`. */
const answering =
  (path: string, contentType: string, text: () => string): RequestListener =>
  (request, response) => {
    const asked = (request.url ?? "").split("?", 1)[0];
    const end = (status: number, body: string): void => {
      response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? "" : body);
    };
    request.resume();
    if (asked !== path) return end(404, `there is ${path}\n`);
    if (request.method !== "GET" && request.method !== "HEAD") return end(405, "GET or HEAD\n");
    end(200, text());
  };

export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly text: () => string;
}

/** Rejects with what the system says where it cannot listen. */
export const listen = ({ host, port }: Address, { contentType, path, text }: Page): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer(
      { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: IDLE_MS },
      answering(path, contentType, text),
    );
    server.maxConnections = CONNECTIONS;
    // A client that stops reading keeps its connection for so long only.
    server.setTimeout(IDLE_MS, (socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      // After this nothing of a server concerns the run.
      server.on("error", () => undefined);
      resolve(server);
    });
  });

export const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
};

export const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
