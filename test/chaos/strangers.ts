/** Servers on this machine that a run sends to, and the ways in which they fail. Each ends with the scope. */
import { type ChildProcess, fork } from "node:child_process";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type Server } from "node:net";
import { Effect, type Scope } from "effect";
import { StandIn } from "../observe/sinks/wandb/support.ts";

/** A slow answer comes after so many milliseconds. */
const SLOW_MS = 1_500;

const listening = <S extends Server>(server: S): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    }),
  );

/** The port of a server that keeps its connections until the scope ends. */
const portOf = (server: Server): Effect.Effect<number, never, Scope.Scope> => {
  const sockets = new Set<{ readonly destroy: () => unknown }>();
  server.on("connection", (socket) => {
    socket.on("error", () => undefined);
    sockets.add(socket);
  });
  return Effect.acquireRelease(
    Effect.promise(() => listening(server)),
    () =>
      Effect.sync(() => {
        server.close();
        for (const socket of sockets) socket.destroy();
      }),
  );
};

const urlOf = <R>(port: Effect.Effect<number, never, R>): Effect.Effect<string, never, R> =>
  Effect.map(port, (port) => `http://127.0.0.1:${port}`);

const answering = (listener: RequestListener) => urlOf(portOf(createHttpServer(listener)));

/** Takes every request and never answers. */
export const hanging = answering((request) => void request.resume());

/** Answers 500, whatever is asked. */
export const failing = answering((request, response) => {
  request.resume();
  response.writeHead(500).end("no");
});

/** Accepts connections and never reads what comes. */
export const deaf = urlOf(portOf(createServer({ pauseOnConnect: true })));

/** Nobody listens here. */
export const nobody = urlOf(Effect.scoped(portOf(createServer())));

/** A port that is taken. */
export const takenPort = portOf(createServer());

/** A stand-in for W&B's server behind a port. */
export const listenerOf =
  (standIn: StandIn): RequestListener =>
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const { headers, method, url = "" } = request;
      const { status, text } = await standIn.http(
        {
          method: method === "PUT" ? "PUT" : "POST",
          url: `http://${headers.host}${url}`,
          headers: headers.authorization === undefined ? {} : { authorization: headers.authorization },
          body: Buffer.concat(chunks).toString(),
        },
        new AbortController().signal,
      );
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    });
  };

/** A server of W&B's that works, and takes its time. */
export const slow = Effect.suspend(() => {
  const listener = listenerOf(new StandIn());
  return answering((request, response) => void setTimeout(() => listener(request, response), SLOW_MS));
});

/** A server of W&B's that works, and what arrived. */
export const wandb = Effect.gen(function* () {
  const standIn = new StandIn();
  return { standIn, url: yield* answering(listenerOf(standIn)) };
});

export interface Mortal {
  readonly url: string;
  readonly child: ChildProcess;
}

/** The same in a process of its own, to be killed. */
export const mortal: Effect.Effect<Mortal, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<Mortal>((resolve) => {
        const child = fork(new URL("./mortalServer.ts", import.meta.url).pathname, { execArgv: [] });
        child.once("message", (port) => resolve({ child, url: `http://127.0.0.1:${port}` }));
      }),
  ),
  ({ child }) => Effect.sync(() => void child.kill("SIGKILL")),
);
