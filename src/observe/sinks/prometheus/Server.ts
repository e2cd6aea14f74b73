/**
 * A small HTTP server that answers one path with one text. Invariant: what clients do (leave a request half sent, stop reading, come in
 * crowds) costs a bounded number of connections and no wait of the run.
 */
import type { RequestListener, Server } from "node:http";
import { boundedServer } from "../../../support/http/boundedServer.ts";
import { type Guard, isLoopback, refusalOf } from "../../../support/http/Guard.ts";

export interface Address {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly text: () => string;
}

const limits = { connections: 64, requestMs: 5_000, keepAliveMs: 30_000 };

/**
 * On loopback a name that is not this machine's is a page's own, which points here so that the page can read what is answered. Beyond
 * loopback the names of this machine are not known, and what is answered is open to the network anyway.
 */
const guardOf = (host: string): Guard | null =>
  isLoopback(host) ? { wide: false, hosts: [], origins: [], token: null } : null;

/** Answers GET and HEAD of `path` to whom the guard lets ask. */
const answering =
  (guard: Guard | null, { contentType, path, text }: Page): RequestListener =>
  (request, response) => {
    const asked = (request.url ?? "").split("?", 1)[0];
    const end = (status: number, body: string): void => {
      response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? "" : body);
    };
    request.resume();
    const { headers, headersDistinct: distinct, method = "" } = request;
    const refusal = guard === null ? null : refusalOf(guard, { method, headers, distinct });
    // A body does not matter here: it is not read.
    if (refusal !== null && refusal.status !== 415) return end(refusal.status, `${refusal.why}\n`);
    if (asked !== path) return end(404, `there is ${path}\n`);
    if (method !== "GET" && method !== "HEAD") return end(405, "GET or HEAD\n");
    end(200, text());
  };

/** Rejects with what the system says where it cannot listen. */
export const listen = ({ host, port }: Address, page: Page): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = boundedServer(limits, { onRequest: answering(guardOf(host), page) });
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
