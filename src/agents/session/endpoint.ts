/**
 * The endpoint that agents call in place of a model's provider. The key of a request says which episode it belongs to; the path says in which
 * dialect it is answered, errors included.
 */
import { Effect } from "effect";
import { makeByteBudget } from "../../support/http/ByteBudget.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { Reply } from "../../support/http/Reply.ts";
import type { Route, RouteRequest } from "../../support/http/Route.ts";
import { type ServeLimits, serve } from "../../support/http/serve.ts";
import type { Dialect } from "../dialects/Dialect.ts";
import { modelList } from "../dialects/models.ts";
import type { Sessions } from "./Sessions.ts";

const json = (status: number, body: unknown): Reply & { readonly body: string } => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** An error, which clients must not try again: they would, after a conflict or a limit of time. */
const refusal = (status: number, body: unknown): Reply => {
  const reply = json(status, body);
  return { ...reply, headers: { ...reply.headers, "x-should-retry": "false" } };
};

const parsed = (text: string): Effect.Effect<unknown, Problem> =>
  Effect.try({ try: () => JSON.parse(text), catch: () => badRequest("the body is no JSON") });

const unknownKey = new Problem({
  status: 401,
  message: "this key belongs to no episode: an agent calls with the apiKey of its own episode",
});
const endedKey = new Problem({ status: 410, message: "the episode of this key has ended" });

const answer = Effect.fnUntraced(function* (dialect: Dialect, sessions: Sessions, request: RouteRequest) {
  const session = sessions.find(dialect.keyOf(request.headers) ?? "");
  if (session === undefined) return yield* unknownKey;
  if (session === "ended") return yield* endedKey;
  const body = yield* Effect.flatMap(request.text, parsed);
  const call = yield* Effect.fromResult(dialect.read(body, (id) => session.recall(id)));
  const reply = yield* session.answer(call);
  if (!call.isStreamed) return json(200, dialect.answer(reply, call));
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    body: dialect.stream(reply, call),
  };
});

/** A dialect's route; it answers problems in the dialect's own form. */
export const routeOf = (dialect: Dialect, sessions: Sessions): Route => ({
  method: "POST",
  path: dialect.path,
  handle: (request) =>
    Effect.catch(answer(dialect, sessions, request), (problem) =>
      Effect.succeed(refusal(problem.status, dialect.error(problem))),
    ),
});

/** The list of models, in which the trained one stands alone. */
const modelsRoute: Route = {
  method: "GET",
  path: "/v1/models",
  handle: () => Effect.sync(() => json(200, modelList(Math.floor(Date.now() / 1000)))),
};

const mebibyte = 2 ** 20;

const limits: ServeLimits = {
  connections: 4_096,
  requestMs: 60_000,
  keepAliveMs: 120_000,
  // Parsing holds up the main thread: four mebibytes of nested lists for most of a second.
  body: { maxBytes: 4 * mebibyte, budget: makeByteBudget(256 * mebibyte) },
};

/** Serves the dialects on loopback until the scope closes. */
export const serveEndpoint = (dialects: readonly Dialect[], sessions: Sessions, more: readonly Route[] = []) =>
  serve({
    host: "127.0.0.1",
    port: 0,
    limits,
    guard: { isPublic: false, hosts: [], origins: [], token: null },
    routes: [modelsRoute, ...dialects.map((dialect) => routeOf(dialect, sessions)), ...more],
    renderError: ({ message, status }) =>
      json(status, { error: { message, type: "invalid_request_error", code: null, param: null } }),
  });
