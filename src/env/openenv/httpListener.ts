/**
 * A table of routes as a request listener for Node's HTTP server. Effect's HTTP server modules are marked unstable, so no other file
 * imports them. Effect's router carries the routes and not its `HttpApi`: OpenEnv takes an empty body for `{}`, and has error bodies of its
 * own for 404, 405, 413 and 422, none of which an `HttpApi` endpoint can state.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer";
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest";
import { Effect, type Scope } from "effect";
import * as HttpRouter from "effect/http/HttpRouter";
import { HttpServerRequest } from "effect/http/HttpServerRequest";
import * as HttpServerResponse from "effect/http/HttpServerResponse";
import { Body, type Excess } from "../../support/http/Body.ts";
import type { ByteBudget } from "../../support/http/ByteBudget.ts";
import { type Answer, failed } from "./Answer.ts";
import type { Route } from "./HttpRoute.ts";

/** Path and query of a request target, whatever a client writes there. */
export const targetOf = (url = "/"): { readonly path: string; readonly query: URLSearchParams } => {
  const [path = "/", ...query] = url.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
};

const responseOf = ({ body, status }: Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { status });

/** The longest body of one request, and what all bodies that are not whole yet may hold. */
export interface BodyLimits {
  readonly most: number;
  readonly budget: ByteBudget;
}

/** The answer to a body that is not taken; what is left of it is not read. */
const notTaken = (excess: Excess, { budget, most }: BodyLimits): HttpServerResponse.HttpServerResponse => {
  const { body, status } =
    excess === "long"
      ? failed(413, `a body may have ${most} bytes`)
      : failed(
          503,
          `the server holds ${budget.held()} bytes of unfinished requests and takes no more; ask again later`,
        );
  return HttpServerResponse.jsonUnsafe(body, { status, headers: { connection: "close" } });
};

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
 * The body of a request, or why it is not read to its end. Read from Node's own request: Effect's `request.text` costs a third of the
 * requests per second. A client that hangs up, or is too slow, interrupts the request's fiber.
 */
const bodyOf = (request: HttpServerRequest, { budget, most }: BodyLimits): Effect.Effect<string, Excess> =>
  Effect.callback<string, Excess>((resume) => {
    const incoming = toIncomingMessage(request);
    const body = new Body(most, budget.share());
    const end = (outcome: Effect.Effect<string, Excess>): void => {
      body.release();
      resume(outcome);
    };
    incoming.on("data", (piece: Buffer) => {
      const excess = body.add(piece);
      if (excess === null) return;
      incoming.pause();
      incoming.removeAllListeners("data");
      end(Effect.fail(excess));
    });
    incoming.on("end", () => end(Effect.succeed(body.text())));
    // A request that broke off has neither.
    incoming.on("close", () => body.release());
    return Effect.sync(() => body.release());
  });
const handlerOf = (route: Route, limits: BodyLimits) => (request: HttpServerRequest) => {
  if (route.method === "GET") return Effect.sync(() => responseOf(route.answer(targetOf(request.url).query)));
  return Effect.match(bodyOf(request, limits), {
    onSuccess: (text) => responseOf(answerTo(text, route.answer)),
    onFailure: (excess) => notTaken(excess, limits),
  });
};

/** Requests under way are interrupted when the scope closes. */
export const httpListener = Effect.fnUntraced(function* (
  routes: readonly Route[],
  limits: BodyLimits,
): Effect.fn.Return<(request: IncomingMessage, response: ServerResponse) => void, never, Scope.Scope> {
  const router = yield* HttpRouter.make;
  for (const route of routes) yield* router.add(route.method, route.path, handlerOf(route, limits));
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
