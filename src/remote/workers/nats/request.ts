/**
 * Requests to a NATS server as effects. A request that the server's absence lost is repeated, with growing waits, until it is back; a
 * refusal for good is an error.
 */
import { Effect } from "effect";
import { retry } from "../../../support/http/retry.ts";
import { BrokerError, reconnectPolicy } from "../Broker.ts";
import type { LiveConnection } from "./connect.ts";

const refusals = /permissions violation|authorization|not enabled|insufficient|overlap/i;

/** True if the server refused for good. */
const isRefusal = (cause: unknown): boolean =>
  cause instanceof Error && (cause.name === "PermissionViolationError" || refusals.test(cause.message));

const errorOf = (what: string, cause: unknown): BrokerError =>
  new BrokerError({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, cause });

/** Makes one attempt. */
export const requestOnce = <A>(what: string, work: () => Promise<A>): Effect.Effect<A, BrokerError> =>
  Effect.tryPromise({ try: work, catch: (cause) => errorOf(what, cause) });

/**
 * Repeats a request until it is done or refused. A broken connection loses the answer, so the request is repeated as soon as there is a new
 * one.
 */
export const requestUntilDone = <A>(
  what: string,
  { reconnected }: Pick<LiveConnection, "reconnected">,
  work: () => Promise<A>,
): Effect.Effect<A, BrokerError> => {
  const broke = Effect.suspend(() => Effect.fail(new BrokerError({ message: `${what}: the connection broke` })));
  const lost = Effect.andThen(reconnected, broke);
  return retry(Effect.raceFirst(requestOnce(what, work), lost), reconnectPolicy, {
    isRetryable: ({ cause }) => !isRefusal(cause),
  });
};
