/**
 * Serves the page and its data while the scope lives. Reading needs the token only beyond loopback; controls always need it.
 * Invariants: a request names runs and files by keys of tables, never by a path. Clients take a bounded share of this process:
 * connections, listening browsers, running requests, their time and bytes.
 */
import { Clock, Effect, Result, Schedule, Schema, type Scope, SubscriptionRef } from "effect";
import { Control } from "../../../domain/Control.ts";
import { monotonicMillisOf } from "../../../domain/Instant.ts";
import { makeByteBudget } from "../../../support/http/ByteBudget.ts";
import { type Guard, hasToken } from "../../../support/http/Guard.ts";
import type { ListenFailed } from "../../../support/http/listen.ts";
import { badRequest, Problem } from "../../../support/http/Problem.ts";
import type { Route } from "../../../support/http/Route.ts";
import * as Http from "../../../support/http/serve.ts";
import { sendControl } from "../../control/ControlClient.ts";
import { bottleneckOf } from "../bottleneck.ts";
import type { AttributeBottleneck } from "../store/RunSnapshot.ts";
import { assetRoutes, loadAssets } from "./Assets.ts";
import { apiRoutes, unknownRun } from "./apiRoutes.ts";
import type { LiveLimits } from "./LiveFeed.ts";
import { problemReply, safeHeaders } from "./replies.ts";
import { ServedRuns } from "./ServedRuns.ts";

export interface WatchOptions {
  /** Folders of runs. */
  readonly runs: readonly string[];
  /** Folders below which all runs are shown, including later ones. */
  readonly below?: readonly string[];
  readonly host: string;
  /** The port; 0 takes any free one. */
  readonly port: number;
  readonly token: string;
  /** True if the server listens beyond loopback. */
  readonly isPublic: boolean;
  readonly attribute?: AttributeBottleneck;
  readonly limits?: Partial<WatchLimits>;
}

export interface WatchLimits extends LiveLimits {
  readonly connections: number;
  readonly browsers: number;
  /** The largest number of running requests. */
  readonly requests: number;
  /** Milliseconds after which an unfinished request is given up. */
  readonly requestMs: number;
}

export const defaultLimits: WatchLimits = {
  connections: 512,
  browsers: 256,
  requests: 64,
  requestMs: 10_000,
  patienceMs: 30_000,
  aliveMs: 10_000,
  safetyMs: 2_000,
};

export interface WatchServer extends Http.ListeningServer {
  readonly ids: readonly string[];
  /** The number of browsers that listen. */
  readonly browsers: SubscriptionRef.SubscriptionRef<number>;
  /** Suspends until every browser that listens has read the end of its run. */
  readonly endRead: Effect.Effect<void>;
}

const LONGEST_BODY = 4_096;
const MOST_BODIES = 2 ** 20;
const KEEP_ALIVE_MS = 5_000;
const GOODBYE_MS = 1_000;
const END_CHECK_MS = 100;

const decodeControl = Schema.decodeUnknownResult(Schema.fromJsonString(Control));

/** Takes controls from clients with the token, even if reading needs none. */
const controlRoute = (runs: ServedRuns, token: string): Route => ({
  method: "POST",
  path: "/api/runs/:id/control",
  handle: Effect.fnUntraced(function* ({ headers, text }, id = "") {
    if (!hasToken(headers.authorization, token)) {
      return yield* new Problem({ status: 401, message: "a control needs the token: Authorization: Bearer TOKEN" });
    }
    const control = decodeControl(yield* text);
    if (Result.isFailure(control)) return yield* badRequest("the body is no control");
    const store = yield* Effect.promise(() => runs.store(id));
    if (store === undefined) return yield* unknownRun(id, runs.ids());
    yield* Effect.mapError(sendControl(store.folder, control.success, "page"), ({ message }) => badRequest(message));
    return { status: 204 };
  }),
});

/** Streams the changes of a run to a browser until it leaves. */
const liveRoute = (runs: ServedRuns, browsers: WatchServer["browsers"], most: number): Route => ({
  method: "GET",
  path: "/api/runs/:id/live",
  handle: Effect.fnUntraced(function* (_, id = "") {
    const feed = runs.feed(id);
    if (feed === undefined) return yield* unknownRun(id, runs.ids());
    if (SubscriptionRef.getUnsafe(browsers) >= most) {
      return yield* new Problem({ status: 503, message: `${most} browsers listen already` });
    }
    const count = (change: number): void => Effect.runSync(SubscriptionRef.update(browsers, (all) => all + change));
    return {
      status: 200,
      headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
      body: (response) => {
        count(1);
        response.on("close", () => count(-1));
        feed.add(response);
      },
    };
  }),
});

export const serveWatch = (options: WatchOptions): Effect.Effect<WatchServer, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { host, port, token, isPublic } = options;
    const limits = { ...defaultLimits, ...options.limits };
    const clock = yield* Clock.Clock;
    const now = () => monotonicMillisOf(clock);
    const runs = new ServedRuns(options, options.attribute ?? bottleneckOf, limits, now);
    const guard: Guard = { isPublic, hosts: isPublic ? [host] : [], origins: [], token: isPublic ? token : null };
    const browsers = yield* SubscriptionRef.make(0);
    const serving = yield* Http.serve({
      host,
      port,
      limits: {
        ...limits,
        keepAliveMs: KEEP_ALIVE_MS,
        body: { maxBytes: LONGEST_BODY, budget: makeByteBudget(MOST_BODIES) },
      },
      guard,
      routes: [
        ...assetRoutes(loadAssets()),
        ...apiRoutes(runs),
        liveRoute(runs, browsers, limits.browsers),
        controlRoute(runs, token),
      ],
      headers: safeHeaders,
      renderError: problemReply,
      notFoundMessage: (path) => `there is no such ${path.startsWith("/api/") ? "answer" : "page"}`,
      onClose: () => runs.close(),
      closeGraceMs: GOODBYE_MS,
    });
    const endRead = Effect.sync(() => runs.isEveryEndRead).pipe(
      Effect.repeat({ until: Boolean, schedule: Schedule.spaced(END_CHECK_MS) }),
      Effect.asVoid,
    );
    return { ...serving, ids: runs.ids(), browsers, endRead };
  });
