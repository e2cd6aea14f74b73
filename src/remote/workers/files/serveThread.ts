/** Entry of the learner's thread that serves model and weights over HTTP, so that downloads cost the main thread nothing. */
import type { Server } from "node:http";
import { Effect } from "effect";
import { CallError, serve } from "../../../model/runtime/serve.ts";
import { listen } from "../../../support/http/listen.ts";
import { makeServer } from "./FileServer.ts";
import type { ServeProtocol } from "./protocol.ts";

let server: Server | undefined;

serve<ServeProtocol>(
  {
    start: async (request) => {
      server = await makeServer(request);
      const listening = Effect.catchTag(listen(server, request.host, request.port), "ListenFailed", ({ code }) =>
        Effect.fail(new CallError(code, `${request.host}:${request.port}`)),
      );
      return Effect.runPromise(listening);
    },
  },
  () =>
    new Promise((resolve) => {
      if (server === undefined) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
    }),
);
