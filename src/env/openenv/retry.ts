/**
 * The retries of requests to an OpenEnv server. Only the opening of a session and questions about a server are repeated, because nothing has been
 * played by then.
 */
import { Effect, Result } from "effect";
import type { Random } from "../../domain/Random.ts";
import { retry } from "../../support/http/retry.ts";
import { type Connection, policyOf } from "./Connection.ts";
import { isRepeatable, RemoteError } from "./RemoteError.ts";

/**
 * The first success of `attempt`, or its last failure. Aborting `signal` ends a wait; an attempt under way gets the signal from its caller and
 * rejects by itself, so that it can close what it opened.
 */
export const withRetries = async <A>(
  limits: Pick<Connection, "retries" | "retry_wait_ms">,
  random: Random | null,
  signal: AbortSignal,
  attempt: () => Promise<A>,
): Promise<A> => {
  if (signal.aborted) return await attempt();
  // The outcome is not taken from the fiber: a session that opens just before an abort must reach its caller, who closes it.
  let outcome: Result.Result<A, unknown> = Result.fail(new Error("nothing was attempted"));
  const once = Effect.tryPromise({ try: attempt, catch: (error) => error }).pipe(
    Effect.result,
    Effect.tap((result) =>
      Effect.sync(() => {
        outcome = result;
      }),
    ),
    Effect.flatMap(Effect.fromResult),
    Effect.uninterruptible,
  );
  const repeated = retry(once, policyOf(limits), {
    isRetryable: (error) => error instanceof RemoteError && isRepeatable(error),
    ...(random === null ? {} : { uniform: () => random.uniform() }),
  });
  await Effect.runPromiseExit(repeated, { signal });
  return Result.getOrThrowWith(outcome, (error) => error);
};
