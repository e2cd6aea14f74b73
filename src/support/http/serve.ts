/**
 * The HTTP server under all our services: routes as data, a guard, limits, errors and the end. Invariants: a client takes a
 * bounded share of connections, bytes and time. An error of a handler becomes a reply. When the scope has closed, running
 * requests have ended and the port is free.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Cause, Effect, FiberSet, type Scope } from "effect";
import { type BodyLimits, readBody } from "./Body.ts";
import { makeByteBudget } from "./ByteBudget.ts";
import { boundedServer, type Certificate, idleTimeoutMs, type ServerLimits } from "./boundedServer.ts";
import {
  bodyRefusalOf,
  corsHeaders,
  type Guard,
  isPreflight,
  pageRefusalOf,
  type RequestHead,
  refusalOf,
} from "./Guard.ts";
import { type ListenFailed, listen } from "./listen.ts";
import { notFound, Problem } from "./Problem.ts";
import { type Headers, type Reply, rejectUpgrade, sendReply } from "./Reply.ts";
import { parseTarget, type Route, routeMatcher } from "./Route.ts";

/** Takes over the connection of a request that changes its protocol. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface ServeLimits extends ServerLimits {
  /** The largest number of running requests; as many as connections if absent. */
  readonly requests?: number;
  /** The limits of bodies; without them no body is read. */
  readonly body?: BodyLimits;
}

export interface ServeOptions<R> {
  readonly host: string;
  /** The port; 0 takes any free one. */
  readonly port: number;
  /** Null serves without TLS. */
  readonly certificate?: Certificate | null;
  readonly limits: ServeLimits;
  /** Null accepts requests of every page and program. */
  readonly guard: Guard | null;
  readonly routes: readonly Route<R>[];
  /** Upgrade handlers by path. Without any, an upgrade request is handled like any other. */
  readonly upgrades?: Readonly<Record<string, Upgrade>>;
  /** Headers of every reply; those of a reply itself win. */
  readonly headers?: Headers;
  /** Renders an error in the server's form. The connection closes after it, so the rest of the request is not read. */
  readonly renderError: (problem: Problem) => Reply & { readonly body: string };
  /** The message for a path without a route. */
  readonly notFoundMessage?: (path: string) => string;
  /** Tells connected clients that the server ends. */
  readonly onClose?: () => void;
  /** Milliseconds that clients may take to leave when the scope closes. */
  readonly closeGraceMs?: number;
}

export interface ListeningServer {
  readonly url: string;
  readonly port: number;
}

const noBody: BodyLimits = { maxBytes: 0, budget: makeByteBudget(0) };

const requestHeadOf = ({ headers, headersDistinct: distinct, method = "" }: IncomingMessage): RequestHead => ({
  method,
  headers,
  headerValues: distinct,
});

/** The problem that a handler failed with or threw. Other errors become a plain 500, so that no detail of ours leaks. */
const problemOf = (cause: Cause.Cause<Problem>): Problem => {
  const error = Cause.squash(cause);
  return error instanceof Problem ? error : new Problem({ status: 500, message: "this could not be answered" });
};

class RequestHandler<R> {
  readonly #options: ServeOptions<R>;
  readonly #match: ReturnType<typeof routeMatcher<R>>;
  #underWay = 0;

  constructor(options: ServeOptions<R>) {
    this.#options = options;
    this.#match = routeMatcher(options.routes);
  }

  /** Answers a request with its reply or an error. */
  respond(request: IncomingMessage, response: ServerResponse): Effect.Effect<void, never, R> {
    const { guard, headers, limits } = this.#options;
    const asking = requestHeadOf(request);
    const always = { ...headers, ...(guard === null ? {} : corsHeaders(guard, asking)) };
    return Effect.suspend(() => {
      this.#underWay++;
      // A client is silent while it waits for a slow handler.
      response.socket?.setTimeout(0);
      if (this.#underWay <= (limits.requests ?? Number.POSITIVE_INFINITY)) return this.#reply(request, asking);
      return Effect.fail(new Problem({ status: 503, message: "too many requests at once; ask again later" }));
    }).pipe(
      Effect.catchCause((cause) => Effect.sync(() => this.errorReply(problemOf(cause)))),
      Effect.flatMap((reply) => {
        response.socket?.setTimeout(idleTimeoutMs(limits));
        return sendReply(response, { ...reply, headers: { ...always, ...reply.headers } }, request.method === "HEAD");
      }),
      Effect.ensuring(Effect.sync(() => this.#underWay--)),
    );
  }

  errorReply(problem: Problem, more: Headers = {}): Reply & { readonly body: string } {
    const reply = this.#options.renderError(problem);
    const asks = problem.status === 401 ? { "www-authenticate": "Bearer" } : {};
    return { ...reply, headers: { connection: "close", ...asks, ...more, ...reply.headers } };
  }

  /** The handler that takes over a connection, or the reason to refuse it. */
  upgradeOf(request: IncomingMessage): Upgrade | Problem {
    const { guard, upgrades = {} } = this.#options;
    const { path } = parseTarget(request.url ?? "/");
    const refusal = guard === null ? null : refusalOf(guard, requestHeadOf(request));
    return refusal ?? (Object.hasOwn(upgrades, path) ? upgrades[path] : undefined) ?? this.#notFound(path);
  }

  #notFound(path: string): Problem {
    return notFound(this.#options.notFoundMessage?.(path) ?? "Not Found");
  }

  #refusal(asking: RequestHead, isPage: boolean): Problem | null {
    const { guard } = this.#options;
    if (guard === null) return null;
    return isPage ? pageRefusalOf(guard, asking) : refusalOf(guard, asking);
  }

  #reply(request: IncomingMessage, asking: RequestHead): Effect.Effect<Reply, Problem, R> {
    const { guard, limits } = this.#options;
    const { path, query } = parseTarget(request.url ?? "/");
    // A target that is a whole address is meant for a proxy, and could name another host than the header does.
    if (!path.startsWith("/")) return Effect.fail(this.#notFound(path));
    const found = this.#match(path);
    const refusal = this.#refusal(asking, found[0]?.route.isPage === true);
    if (refusal !== null) return Effect.fail(refusal);
    if (guard !== null && isPreflight(asking)) return Effect.succeed({ status: 204 });
    if (found.length === 0) return Effect.fail(this.#notFound(path));
    const method = asking.method === "HEAD" ? "GET" : asking.method;
    const match = found.find(({ route }) => route.method === method);
    if (match === undefined) {
      const allow = found.map(({ route }) => route.method).join(", ");
      return Effect.succeed(this.errorReply(new Problem({ status: 405, message: "Method Not Allowed" }), { allow }));
    }
    const unread = method === "POST" ? bodyRefusalOf(asking) : null;
    if (unread !== null) return Effect.fail(unread);
    const text = readBody(request, limits.body ?? noBody);
    return match.route.handle({ headers: asking.headers, query, text }, ...match.parameters());
  }
}

/** Remembers upgraded connections until they close. */
const upgradeHandler = <R>(routing: RequestHandler<R>, upgraded: Set<Duplex>): Upgrade => {
  return (request, socket, head) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    const upgrade = routing.upgradeOf(request);
    if (upgrade instanceof Problem) rejectUpgrade(socket, routing.errorReply(upgrade));
    else upgrade(request, socket, head);
  };
};

/** Lets running requests end for a while, and then closes the remaining connections. */
const closeServer = <R>(server: Server, upgraded: ReadonlySet<Duplex>, options: ServeOptions<R>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    options.onClose?.();
    const timer = setTimeout(() => {
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
    }, options.closeGraceMs ?? 0);
    server.close(() => {
      clearTimeout(timer);
      resume(Effect.void);
    });
    server.closeIdleConnections();
  });

/** Serves while the scope lives. */
export const serve = <R = never>(
  options: ServeOptions<R>,
): Effect.Effect<ListeningServer, ListenFailed, Scope.Scope | R> =>
  Effect.gen(function* () {
    const { certificate = null, host, limits, upgrades } = options;
    const routing = new RequestHandler(options);
    const upgraded = new Set<Duplex>();
    const run = yield* FiberSet.makeRuntime<R, void, never>();
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      response.on("error", () => response.destroy());
      const fiber = run(routing.respond(request, response));
      response.once("close", () => fiber.interruptUnsafe());
    };
    const onUpgrade = upgrades === undefined ? {} : { onUpgrade: upgradeHandler(routing, upgraded) };
    const server = boundedServer(limits, { onRequest, ...onUpgrade }, certificate);
    const port = yield* Effect.acquireRelease(listen(server, host, options.port), () =>
      closeServer(server, upgraded, options),
    );
    const name = host.includes(":") ? `[${host}]` : host;
    return { url: `${certificate === null ? "http" : "https"}://${name}:${port}`, port };
  });
