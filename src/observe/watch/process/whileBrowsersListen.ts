/** Whether anybody looks at a page, by the number of browsers that listen to its server. */
import { type Effect, Stream, SubscriptionRef } from "effect";

/** So long without a browser, and nobody looks: one that is loaded again comes back within it. */
const AWAY_MS = 2_000;

/** Suspends while browsers look. */
export const whileBrowsersListen = (browsers: SubscriptionRef.SubscriptionRef<number>): Effect.Effect<void> =>
  SubscriptionRef.changes(browsers).pipe(
    Stream.debounce(AWAY_MS),
    Stream.filter((count) => count === 0),
    Stream.take(1),
    Stream.runDrain,
  );
