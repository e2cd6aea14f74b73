/** Waits for the browsers of a page, by the number of those that listen to its server. */
import { type Effect, Stream, SubscriptionRef } from "effect";

/** Milliseconds without a browser after which the page counts as closed; a reload takes less. */
const AWAY_MS = 2_000;

/** Suspends while browsers listen. */
export const whileBrowsersListen = (browsers: SubscriptionRef.SubscriptionRef<number>): Effect.Effect<void> =>
  SubscriptionRef.changes(browsers).pipe(
    Stream.debounce(AWAY_MS),
    Stream.filter((count) => count === 0),
    Stream.take(1),
    Stream.runDrain,
  );
