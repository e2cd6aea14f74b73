/**
 * The process of a run's page, forked by Page.ts. After the run has ended, it serves until every browser has the end; after a
 * kill, while a browser listens. SIGTERM ends it at once. It has a lower priority than the run.
 */
import { constants, setPriority } from "node:os";
import { Deferred, Effect, Option, SubscriptionRef } from "effect";
import { freePortAbove } from "../../../support/http/freePort.ts";
import { loopback, readToken } from "../../../support/http/serverFlags.ts";
import { makeToken, writeTokenFile } from "../server/token.ts";
import { serveWatch, type WatchServer } from "../server/WatchServer.ts";
import { decodeRunMessage, type PageMessage, type PageStart, usualPort } from "./messages.ts";
import { whileBrowsersListen } from "./whileBrowsersListen.ts";

/** The longest time that the process stays after its run was killed, and after its run ended, milliseconds. */
const KILLED_MS = 3_600_000;
const ENDED_MS = 30_000;
/** After the end, a browser asks for the last step and the summary within so many milliseconds. */
const LAST_QUESTIONS_MS = 2_000;

/** The first message of the parent, the end of the run, and the signal that ends this process at once. */
const parent = Effect.sync(() => {
  const start = Deferred.makeUnsafe<PageStart>();
  const end = Deferred.makeUnsafe<"ended" | "killed">();
  const terminated = Deferred.makeUnsafe<void>();
  process.on("message", (message) => {
    const order = Option.getOrNull(decodeRunMessage(message));
    if (order === null) return;
    if ("ended" in order) Deferred.doneUnsafe(end, Effect.succeed("ended" as const));
    else Deferred.doneUnsafe(start, Effect.succeed(order));
  });
  process.on("disconnect", () => Deferred.doneUnsafe(end, Effect.succeed("killed" as const)));
  process.on("SIGTERM", () => Deferred.doneUnsafe(terminated, Effect.void));
  return { start: Deferred.await(start), end: Deferred.await(end), terminated: Deferred.await(terminated) };
});

/** Suspends until no browser needs the page after such an end of the run. */
const untilUnneeded = ({ browsers, endRead }: WatchServer, how: "ended" | "killed"): Effect.Effect<unknown> => {
  if (how === "killed") return Effect.timeoutOption(whileBrowsersListen(browsers), KILLED_MS);
  const toldAndAnswered = Effect.gen(function* () {
    if (SubscriptionRef.getUnsafe(browsers) === 0) return;
    yield* endRead;
    yield* Effect.sleep(LAST_QUESTIONS_MS);
  });
  return Effect.timeoutOption(toldAndAnswered, ENDED_MS);
};

const open = Effect.fnUntraced(function* ({ folder, port }: PageStart, token: string) {
  const options = { runs: [folder], host: loopback, token, isPublic: false };
  const firstPort = port === "near" ? usualPort : port;
  return yield* Effect.catchTag(serveWatch({ ...options, port: firstPort }), "ListenFailed", (failed) =>
    port !== "near"
      ? Effect.fail(failed)
      : Effect.flatMap(
          Effect.promise(() => freePortAbove(loopback, firstPort)),
          (free) => serveWatch({ ...options, port: free ?? 0 }),
        ),
  );
});

const sendToRun = (message: PageMessage): Effect.Effect<void> =>
  Effect.sync(() => void (process.connected && process.send?.(message)));

/** Serves the requested page until no browser needs it. */
const serveUntilUnneeded = Effect.fnUntraced(function* (order: PageStart, end: Effect.Effect<"ended" | "killed">) {
  const givenToken = yield* readToken(null);
  const token = givenToken ?? makeToken();
  const watching = yield* open(order, token);
  const isRandom = givenToken === null;
  const tokenFile = isRandom && !order.terminal ? yield* writeTokenFile(token) : null;
  yield* sendToRun({ url: watching.url, token: isRandom && order.terminal ? token : null, tokenFile });
  yield* untilUnneeded(watching, yield* end);
}, Effect.scoped);

const program = Effect.gen(function* () {
  const { end, start, terminated } = yield* parent;
  // A parent that ends before it sends a request needs no page.
  const order = yield* Effect.raceFirst(start, Effect.as(Effect.raceFirst(end, terminated), null));
  if (order !== null) yield* Effect.raceFirst(serveUntilUnneeded(order, end), terminated);
}).pipe(
  Effect.catchTags({
    ListenFailed: ({ code, host, port }) => sendToRun({ listenFailed: { host, port, code } }),
    BadInput: ({ message }) => sendToRun({ refused: message }),
  }),
);

setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
await Effect.runPromise(program);
process.exit(0);
