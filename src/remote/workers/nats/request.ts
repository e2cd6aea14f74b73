/**
 * Requests to a NATS server as effects: what is lost because the server is away is tried again until it is back, what it refuses for good is
 * an error. Each wait is longer than the one before.
 */
import { Effect } from "effect";
import { retry } from "../../../support/http/retry.ts";
import { BrokerError, persistent } from "../Broker.ts";
import type { Connected } from "./connect.ts";

const refusals = /permissions violation|authorization|not enabled|insufficient|overlap/i;

/** Refused for good, and not merely lost. */
const isRefusal = (cause: unknown): boolean =>
  cause instanceof Error && (cause.name === "PermissionViolationError" || refusals.test(cause.message));

const errorOf = (what: string, cause: unknown): BrokerError =>
  new BrokerError({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause });

/** One try. */
export const once = <A>(what: string, work: () => Promise<A>): Effect.Effect<A, BrokerError> =>
  Effect.tryPromise({ try: work, catch: (cause) => errorOf(what, cause) });

/**
 * Until it is done, or refused. What was asked for over a connection that broke is asked for again as soon as there is another: its answer
 * would not come.
 */
export const persistently = <A>(
  what: string,
  { reconnected }: Pick<Connected, "reconnected">,
  work: () => Promise<A>,
): Effect.Effect<A, BrokerError> => {
  const broke = Effect.suspend(() => Effect.fail(new BrokerError({ message: `${what}: the connection broke` })));
  const lost = Effect.andThen(reconnected, broke);
  return retry(Effect.raceFirst(once(what, work), lost), persistent, { isRetryable: ({ cause }) => !isRefusal(cause) });
};
