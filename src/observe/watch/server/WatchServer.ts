/**
 * Serves the page and what it asks for, for as long as the scope lives. Reading needs no token on loopback and the token elsewhere; controls
 * always need it. Invariants: a request names runs and files by keys of tables, never by a path; what clients may take of this process is
 * bounded: connections, listening browsers, requests under way, their time and their bytes.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Clock, Effect, Exit, Result, Schedule, Schema, type Scope, SubscriptionRef } from "effect";
import { Control } from "../../../domain/Control.ts";
import { monotonicMillisOf } from "../../../domain/Instant.ts";
import { Body } from "../../../support/http/Body.ts";
import { type ByteBudget, makeByteBudget } from "../../../support/http/ByteBudget.ts";
import { boundedServer } from "../../../support/http/boundedServer.ts";
import { bears, type Guard, refusalOf } from "../../../support/http/Guard.ts";
import { type ListenFailed, listen } from "../../../support/http/listen.ts";
import { send } from "../../control/ControlClient.ts";
import { bottleneckOf } from "../bottleneck.ts";
import type { Attribute } from "../store/Moment.ts";
import { type Assets, load, send as sendAsset } from "./Assets.ts";
import { answer, unknownRun } from "./api.ts";
import type { FeedLimits } from "./Feed.ts";
import { notFound, Problem } from "./Problem.ts";
import { type Target, targetOf } from "./query.ts";
import { safeHeaders, sendError } from "./Reply.ts";
import { Runs } from "./Runs.ts";

export interface WatchOptions {
  /** Folders of runs. */
  readonly runs: readonly string[];
  /** Folders below which all runs are shown, those that begin later too. */
  readonly below?: readonly string[];
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly token: string;
  /** Listens beyond loopback. */
  readonly wide: boolean;
  readonly attribute?: Attribute;
  readonly limits?: Partial<Limits>;
}

export interface Limits extends FeedLimits {
  readonly connections: number;
  readonly browsers: number;
  /** Requests under way at once. */
  readonly requests: number;
  /** A request that has not arrived after so long is given up. */
  readonly requestMs: number;
}

export const defaults: Limits = {
  connections: 512,
  browsers: 256,
  requests: 64,
  requestMs: 10_000,
  patienceMs: 30_000,
  aliveMs: 10_000,
  safetyMs: 2_000,
};

export interface Watching {
  readonly url: string;
  readonly port: number;
  readonly ids: readonly string[];
  /** Browsers that listen. */
  readonly browsers: SubscriptionRef.SubscriptionRef<number>;
  /** Suspends until every browser that listens has read how its run ended. */
  readonly endRead: Effect.Effect<void>;
}

const LONGEST_BODY = 4_096;
const MOST_BODIES = 2 ** 20;
const KEEP_ALIVE_MS = 5_000;
const GOODBYE_MS = 1_000;
const END_CHECK_MS = 100;

interface Context {
  readonly runs: Runs;
  readonly assets: Assets;
  readonly guard: Guard;
  readonly token: string;
  readonly limits: Limits;
  readonly budget: ByteBudget;
  readonly browsers: Watching["browsers"];
}

const decodeControl = Schema.decodeUnknownResult(Schema.fromJsonString(Control));

const bodyOf = (request: IncomingMessage, budget: ByteBudget): Promise<string> =>
  new Promise((resolve, reject) => {
    const body = new Body(LONGEST_BODY, budget.share());
    const end = (settle: () => void): void => {
      settle();
      body.release();
    };
    request.on("data", (piece: Buffer) => {
      const excess = body.add(piece);
      if (excess === null) return;
      request.removeAllListeners("data");
      const problem =
        excess === "long"
          ? new Problem(413, `a body may have ${LONGEST_BODY} bytes`)
          : new Problem(503, "too many requests are not whole yet; ask again later");
      end(() => reject(problem));
    });
    request.on("end", () => end(() => resolve(body.text())));
    request.on("close", () => end(() => reject(new Problem(400, "the request broke off"))));
  });

const isNavigation = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";

/** Refuses who may not ask. The page itself, which says nothing of a run, needs no token: a browser sends none with an address. */
const admit = ({ guard, token }: Context, request: IncomingMessage, segments: readonly string[]): void => {
  const { headers, headersDistinct, method = "" } = request;
  const api = segments[0] === "api";
  const { "sec-fetch-site": _, ...fromAnywhere } = headers;
  const asking = {
    method,
    // A link to the page may stand on any other one.
    headers: !api && isNavigation(request) ? fromAnywhere : headers,
    distinct: headersDistinct,
  };
  const refusal = refusalOf(api ? guard : { ...guard, token: null }, asking);
  if (refusal !== null) throw new Problem(refusal.status, refusal.why);
  if (method !== "GET" && method !== "POST") throw new Problem(405, "only GET and POST are answered");
  if (method === "POST" && !bears(headers.authorization, token)) {
    throw new Problem(401, "a control needs the token: Authorization: Bearer TOKEN");
  }
};

const control = async (
  { budget, runs }: Context,
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const asked = decodeControl(await bodyOf(request, budget));
  if (Result.isFailure(asked)) throw new Problem(400, "the body is no control");
  const store = await runs.store(id);
  if (store === undefined) throw unknownRun(id, runs.ids());
  const exit = await Effect.runPromiseExit(send(store.folder, asked.success, "page"));
  if (Exit.isFailure(exit)) {
    const failure = Exit.findErrorOption(exit);
    throw new Problem(400, failure._tag === "Some" ? failure.value.message : "the control was not carried out");
  }
  response.writeHead(204, { ...safeHeaders, "cache-control": "no-store" }).end();
};

const listenTo = ({ browsers, limits, runs }: Context, id: string, response: ServerResponse): void => {
  const feed = runs.feed(id);
  if (feed === undefined) throw unknownRun(id, runs.ids());
  if (SubscriptionRef.getUnsafe(browsers) >= limits.browsers) {
    throw new Problem(503, `${limits.browsers} browsers listen already`);
  }
  const count = (change: number): void => Effect.runSync(SubscriptionRef.update(browsers, (all) => all + change));
  count(1);
  response.on("close", () => count(-1));
  feed.add(response);
};

const route = async (
  context: Context,
  { query, segments }: Target,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const [first, ...rest] = segments;
  const [what, id = "", name] = rest;
  const ofRun = first === "api" && what === "runs" && rest.length === 3;
  if (request.method === "POST") {
    if (ofRun && name === "control") return control(context, id, request, response);
    throw new Problem(405, "this takes no POST");
  }
  if (ofRun && name === "live") return listenTo(context, id, response);
  if (first === "api") return answer(context.runs, rest, query, request, response);
  if (!sendAsset(context.assets, `/${segments.join("/")}`, request, response)) throw notFound("there is no such page");
};

const listenerOf = (context: Context) => {
  let underWay = 0;
  return (request: IncomingMessage, response: ServerResponse): void => {
    response.on("error", () => response.destroy());
    const handle = async (): Promise<void> => {
      // A whole address as the target is what a proxy is asked for.
      if (!request.url?.startsWith("/")) throw notFound("there is no such page");
      const target = targetOf(request.url);
      admit(context, request, target.segments);
      if (underWay >= context.limits.requests) throw new Problem(503, "too many requests at once; ask again later");
      underWay++;
      try {
        await route(context, target, request, response);
      } finally {
        underWay--;
      }
    };
    handle().catch((cause: unknown) => {
      if (cause instanceof Problem) sendError(response, cause.status, cause.message);
      else sendError(response, 500, "this could not be answered");
    });
  };
};

const closeAll = (server: Server, runs: Runs): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    runs.close();
    const timer = setTimeout(() => server.closeAllConnections(), GOODBYE_MS);
    server.close(() => {
      clearTimeout(timer);
      resume(Effect.void);
    });
    server.closeIdleConnections();
  });

export const serve = (options: WatchOptions): Effect.Effect<Watching, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { host, token, wide } = options;
    const limits = { ...defaults, ...options.limits };
    const clock = yield* Clock.Clock;
    const now = () => monotonicMillisOf(clock);
    const runs = new Runs(options, options.attribute ?? bottleneckOf, limits, now);
    const guard: Guard = { wide, hosts: wide ? [host] : [], origins: [], token: wide ? token : null };
    const browsers = yield* SubscriptionRef.make(0);
    const budget = makeByteBudget(MOST_BODIES);
    const context: Context = { runs, assets: load(), guard, token, limits, budget, browsers };
    const { connections, requestMs } = limits;
    const server = boundedServer(
      { connections, requestMs, keepAliveMs: KEEP_ALIVE_MS },
      { onRequest: listenerOf(context) },
    );
    const port = yield* Effect.acquireRelease(listen(server, host, options.port), () => closeAll(server, runs));
    const name = host.includes(":") ? `[${host}]` : host;
    const endRead = Effect.sync(() => runs.areEndsRead).pipe(
      Effect.repeat({ until: Boolean, schedule: Schedule.spaced(END_CHECK_MS) }),
      Effect.asVoid,
    );
    return { url: `http://${name}:${port}`, port, ids: runs.ids(), browsers, endRead };
  });
