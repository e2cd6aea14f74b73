/**
 * The endpoint that agents call in place of a model's provider. The key of a request says which episode it belongs to; the path says in which
 * dialect it is answered, errors included.
 */
import type { ServerResponse } from "node:http";
import { Effect, Fiber, Option, Result } from "effect";
import { makeByteBudget } from "../../support/http/ByteBudget.ts";
import { badRequest, Problem } from "../../support/http/Problem.ts";
import type { Reply } from "../../support/http/Reply.ts";
import type { Route, RouteRequest } from "../../support/http/Route.ts";
import { type ServeLimits, serve } from "../../support/http/serve.ts";
import { loopback } from "../../support/http/serverFlags.ts";
import type { Dialect, ModelAnswer, ModelCall } from "../dialects/Dialect.ts";
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

/** Clients give up streams that are silent for long. */
const signOfLifeMs = 3_000;

const unknownKey = new Problem({
  status: 401,
  message: "this key belongs to no episode: an agent calls with the apiKey of its own episode",
});
const endedKey = new Problem({ status: 410, message: "the episode of this key has ended" });

/** True if the client's SDK says that it sent this request before. OpenAI's and Anthropic's do. */
const isRetry = ({ headers }: RouteRequest): boolean => Number(headers["x-stainless-retry-count"] ?? 0) > 0;

/** The episode of a request, and the call that its body asks for. */
const readRequest = Effect.fnUntraced(function* (dialect: Dialect, sessions: Sessions, request: RouteRequest) {
  const session = sessions.find(dialect.keyOf(request.headers) ?? "");
  if (session === undefined) return yield* unknownKey;
  if (session === "ended") return yield* endedKey;
  const text = yield* request.text;
  const call = yield* Effect.fromResult(dialect.read(yield* parsed(text), (id) => session.recall(id)));
  return { session, text, call };
});

const answer = Effect.fnUntraced(function* (
  dialect: Dialect,
  sessions: Sessions,
  request: RouteRequest,
  silenceMs: number,
) {
  const { call, session, text } = yield* readRequest(dialect, sessions, request);
  const answering = session.answer(call, { body: `${dialect.path} ${text}`, isRetry: isRetry(request) });
  if (!call.isStreamed) return json(200, dialect.answer(yield* answering, call));
  return yield* streamed(dialect, call, answering, silenceMs);
});

const eventStream = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/**
 * An answer as a stream of events. It is written whole, since a reply is read whole; while it is sampled the client gets a sign of life every
 * `silenceMs`. A problem before the first one is an error reply.
 */
const streamed = Effect.fnUntraced(function* (
  dialect: Dialect,
  call: ModelCall,
  answering: Effect.Effect<ModelAnswer, Problem>,
  silenceMs: number,
): Effect.fn.Return<Reply, Problem> {
  const fiber = yield* Effect.forkDetach(answering);
  const next = Effect.timeoutOption(Fiber.join(fiber), silenceMs);
  const first = yield* Effect.onInterrupt(next, () => Fiber.interrupt(fiber));
  if (Option.isSome(first)) return { status: 200, headers: eventStream, body: dialect.stream(first.value, call) };
  const body = (response: ServerResponse): void => {
    const writing = Effect.gen(function* () {
      for (;;) {
        response.write(dialect.keepAlive);
        const answer = yield* Effect.result(next);
        if (Result.isFailure(answer)) return response.end(dialect.streamError(answer.failure));
        if (Option.isSome(answer.success)) return response.end(dialect.stream(answer.success.value, call));
      }
    });
    const writer = Effect.runFork(writing);
    response.on("close", () => void Effect.runFork(Fiber.interruptAll([writer, fiber])));
  };
  return { status: 200, headers: eventStream, body };
});

/** Answers problems in the dialect's own form. */
const inFormOf = (dialect: Dialect, reply: Effect.Effect<Reply, Problem>): Effect.Effect<Reply> =>
  Effect.catch(reply, (problem) => Effect.succeed(refusal(problem.status, dialect.error(problem))));

/** A dialect's route. */
export const routeOf = (dialect: Dialect, sessions: Sessions, silenceMs: number): Route => ({
  method: "POST",
  path: dialect.path,
  handle: (request) => inFormOf(dialect, answer(dialect, sessions, request, silenceMs)),
});

/** Counts the tokens of a call without answering it. Clients of Anthropic's ask for it before they shorten a history. */
const countRoute = (dialect: Dialect, sessions: Sessions): Route => ({
  method: "POST",
  path: `${dialect.path}/count_tokens`,
  handle: (request) =>
    inFormOf(
      dialect,
      Effect.gen(function* () {
        const { call, session } = yield* readRequest(dialect, sessions, request);
        return json(200, { input_tokens: yield* session.countTokens(call) });
      }),
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

export interface EndpointOptions {
  /** Routes beside those of the dialects. */
  readonly routes?: readonly Route[];
  /** The port on loopback; 0 takes a free one. */
  readonly port?: number;
  /** Milliseconds between two signs of life of a stream. */
  readonly silenceMs?: number;
}

/** Serves the dialects on loopback until the scope closes. */
export const serveEndpoint = (
  dialects: readonly Dialect[],
  sessions: Sessions,
  { port = 0, routes = [], silenceMs = signOfLifeMs }: EndpointOptions = {},
) =>
  serve({
    host: loopback,
    port,
    limits,
    guard: { isPublic: false, hosts: [], origins: [], token: null },
    routes: [
      modelsRoute,
      ...dialects.map((dialect) => routeOf(dialect, sessions, silenceMs)),
      ...dialects.filter(({ name }) => name === "messages").map((dialect) => countRoute(dialect, sessions)),
      ...routes,
    ],
    renderError: ({ message, status }) =>
      json(status, { error: { message, type: "invalid_request_error", code: null, param: null } }),
  });
