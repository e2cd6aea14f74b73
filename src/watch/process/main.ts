/**
 * The process of a run's page, forked by Page.ts: serves until it is told to end, and a while longer where its parent was killed. The run goes
 * first: the process has a lower priority.
 */
import { constants, setPriority } from "node:os";
import { Deferred, Effect, Option } from "effect";
import { freePortAbove } from "../../http/freePort.ts";
import { loopback, tokenFrom } from "../../http/serverFlags.ts";
import { keptToken, makeToken } from "../server/token.ts";
import { serve } from "../server/WatchServer.ts";
import { whileLookedAt } from "./lookedAt.ts";
import { decodeOrder, type Said, type Start, usualPort } from "./orders.ts";

/** After its parent was killed, at most. */
const HOUR_MS = 3_600_000;
/** What the parent says first, and whether it ended in order. */
const parent = Effect.sync(() => {
  const start = Deferred.makeUnsafe<Start>();
  const end = Deferred.makeUnsafe<"told" | "gone">();
  process.on("message", (message) => {
    const order = Option.getOrNull(decodeOrder(message));
    if (order === null) return;
    if ("end" in order) Deferred.doneUnsafe(end, Effect.succeed("told" as const));
    else Deferred.doneUnsafe(start, Effect.succeed(order));
  });
  process.on("disconnect", () => Deferred.doneUnsafe(end, Effect.succeed("gone" as const)));
  process.on("SIGTERM", () => Deferred.doneUnsafe(end, Effect.succeed("told" as const)));
  return { start: Deferred.await(start), end: Deferred.await(end) };
});

const open = Effect.fnUntraced(function* ({ folder, port }: Start, token: string) {
  const options = { runs: [folder], host: loopback, token, wide: false };
  const wanted = port === "near" ? usualPort : port;
  return yield* Effect.catchTag(serve({ ...options, port: wanted }), "ListenFailed", (failed) =>
    port !== "near"
      ? Effect.fail(failed)
      : Effect.flatMap(
          Effect.promise(() => freePortAbove(loopback, wanted)),
          (free) => serve({ ...options, port: free ?? 0 }),
        ),
  );
});

const say = (message: Said): Effect.Effect<void> =>
  Effect.sync(() => void (process.connected && process.send?.(message)));

const program = Effect.gen(function* () {
  const { end, start } = yield* parent;
  const order = yield* start;
  const known = yield* tokenFrom(null);
  const token = known ?? makeToken();
  const watching = yield* open(order, token);
  const made = known === null;
  const tokenFile = made && !order.terminal ? yield* keptToken(token) : null;
  yield* say({ url: watching.url, token: made && order.terminal ? token : null, tokenFile });
  if ((yield* end) === "gone") yield* Effect.timeoutOption(whileLookedAt(watching.browsers), HOUR_MS);
}).pipe(
  Effect.scoped,
  Effect.catchTags({
    ListenFailed: ({ code, host, port }) => say({ listenFailed: { host, port, code } }),
    BadInput: ({ message }) => say({ refused: message }),
  }),
);

setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
await Effect.runPromise(program);
process.exit(0);
