/**
 * A table of routes as a request listener for Node's HTTP server. Effect's HTTP server modules are marked unstable, so no other file
 * imports them. Effect's router carries the routes and not its `HttpApi`: OpenEnv reads a body as JSON whatever its content type, takes an
 * empty one for `{}`, and has error bodies of its own for 404, 405, 413 and 422, none of which an `HttpApi` endpoint can state.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer";
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest";
import { Effect, type Scope } from "effect";
import * as HttpRouter from "effect/http/HttpRouter";
import { HttpServerRequest } from "effect/http/HttpServerRequest";
import * as HttpServerResponse from "effect/http/HttpServerResponse";
import { type Answer, failed } from "./Answer.ts";
import type { Route } from "./HttpRoute.ts";

/** Path and query of a request target, whatever a client writes there. */
export const targetOf = (url = "/"): { readonly path: string; readonly query: URLSearchParams } => {
  const [path = "/", ...query] = url.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
};

const responseOf = ({ body, status }: Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, {
    status,
    // What is left of a body that is too long is not read.
    ...(status === 413 ? { headers: { connection: "close" } } : {}),
  });

const notJson = failed(422, [{ type: "json_invalid", loc: ["body"], msg: "the body is no JSON" }], {
  code: "INVALID_JSON",
});

const answerTo = (text: string, answer: (body: unknown) => Answer): Answer => {
  let body: unknown = {};
  try {
    if (text.trim() !== "") body = JSON.parse(text);
  } catch {
    return notJson;
  }
  return answer(body);
};

/**
 * The body of a request; null where it is longer than `mostBytes`, and the rest is not read. Read from Node's own request: Effect's
 * `request.text` costs a third of the requests per second. A client that hangs up interrupts the request's fiber.
 */
const bodyOf = (request: HttpServerRequest, mostBytes: number): Effect.Effect<string | null> =>
  Effect.callback((resume) => {
    const incoming = toIncomingMessage(request);
    const chunks: Buffer[] = [];
    let bytes = 0;
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= mostBytes) {
        chunks.push(chunk);
        return;
      }
      incoming.pause();
      resume(Effect.succeed(null));
    });
    incoming.on("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString())));
  });

const handlerOf = (route: Route, maxBodyBytes: number) => (request: HttpServerRequest) => {
  if (route.method === "GET") return Effect.sync(() => responseOf(route.answer(targetOf(request.url).query)));
  return Effect.map(bodyOf(request, maxBodyBytes), (text) =>
    responseOf(text === null ? failed(413, `a body may have ${maxBodyBytes} bytes`) : answerTo(text, route.answer)),
  );
};

/** Requests under way are interrupted when the scope closes. */
export const httpListener = Effect.fnUntraced(function* (
  routes: readonly Route[],
  maxBodyBytes: number,
): Effect.fn.Return<(request: IncomingMessage, response: ServerResponse) => void, never, Scope.Scope> {
  const router = yield* HttpRouter.make;
  for (const route of routes) yield* router.add(route.method, route.path, handlerOf(route, maxBodyBytes));
  const paths = new Set<string>(routes.map(({ path }) => path));
  // Handlers do not fail: a path of the table without a route has no such method.
  const routed = Effect.catch(router.asHttpEffect(), () =>
    Effect.succeed(responseOf(failed(405, "Method Not Allowed"))),
  );
  const app = Effect.flatMap(HttpServerRequest, (request) =>
    // The router alone would also take other spellings: a slash more, upper case, escapes.
    paths.has(targetOf(request.url).path) ? routed : Effect.succeed(responseOf(failed(404, "Not Found"))),
  );
  return yield* NodeHttpServer.makeHandler(app, { scope: yield* Effect.scope });
});
