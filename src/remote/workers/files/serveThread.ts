/** Entry of the learner's thread that serves model and weights, so that downloads cost the main thread nothing. */
import { Effect, Exit, Scope } from "effect";
import { CallError, serve } from "../../../model/runtime/serve.ts";
import { serveFiles } from "./FileServer.ts";
import type { ServeProtocol } from "./protocol.ts";

const scope = Scope.makeUnsafe();

serve<ServeProtocol>(
  {
    start: (request) =>
      Effect.runPromise(
        Scope.provide(serveFiles(request), scope).pipe(
          Effect.map(({ url }) => url),
          Effect.catchTag("ListenFailed", ({ code, host, port }) =>
            Effect.fail(new CallError(code, `${host}:${port}`)),
          ),
        ),
      ),
  },
  () => Effect.runPromise(Scope.close(scope, Exit.void)),
);
