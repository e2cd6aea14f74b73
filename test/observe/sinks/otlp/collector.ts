/** A stand-in collector: keeps what is posted to it, and answers as told. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Effect, type Scope } from "effect";

export interface Posted {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface Collector {
  readonly endpoint: string;
  readonly posted: readonly Posted[];
  /** Resolves when something is posted to the path, from the first on. */
  readonly arrived: (path: string) => Effect.Effect<Posted>;
}

export type Answer = (response: ServerResponse, posted: Posted) => void;

const ok: Answer = (response) => response.end("{}");

export const collector = (answer: Answer = ok): Effect.Effect<Collector, never, Scope.Scope> =>
  Effect.gen(function* () {
    const posted: Posted[] = [];
    const waiting = new Set<() => void>();
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const one = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() };
      posted.push(one);
      for (const wake of waiting) wake();
      answer(response, one);
    });
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () =>
        Effect.sync(() => {
          server.close();
          server.closeAllConnections();
        }),
    );
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const arrived = (path: string) =>
      Effect.promise(
        () =>
          new Promise<Posted>((resolve) => {
            const look = (): void => {
              const found = posted.find((one) => one.path === path);
              if (found === undefined) return;
              waiting.delete(look);
              resolve(found);
            };
            waiting.add(look);
            look();
          }),
      );
    return { endpoint: `http://127.0.0.1:${port}`, posted, arrived };
  });
