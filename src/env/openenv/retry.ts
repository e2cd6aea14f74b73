/**
 * Which failures of an OpenEnv server are worth another attempt, and how long to wait before it. Only opening a session and asking about a
 * server are repeated: nothing has been played by then.
 */
import { Effect, Result } from "effect";
import type { Random } from "../../domain/Random.ts";
import { schedule } from "../../support/http/schedule.ts";
import { backoffOf, type Connection } from "./Connection.ts";
import { RemoteError, repeatable } from "./RemoteError.ts";

/** Half of a wait is certain, the other half is drawn, so that the members of a group do not all come back at once. */
export const jittered = (ms: number, random: Random): number => ms / 2 + (ms / 2) * random.uniform();

/**
 * The first success of `attempt`, or its last failure. Aborting `signal` ends a wait; an attempt under way is given the signal by its
 * caller and rejects by itself, so that it can close what it opened.
 */
export const retrying = async <A>(
  { retries, retry_wait_ms }: Pick<Connection, "retries" | "retry_wait_ms">,
  random: Random | null,
  signal: AbortSignal,
  attempt: () => Promise<A>,
): Promise<A> => {
  if (signal.aborted) return await attempt();
  // Kept here and not taken from the fiber: a session that opened just before an abort must reach its caller, who closes it.
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
  const repeated = Effect.retry(once, {
    schedule: schedule(backoffOf({ retry_wait_ms }), random === null ? undefined : (ms) => jittered(ms, random)),
    times: retries,
    while: (error) => error instanceof RemoteError && repeatable(error),
  });
  await Effect.runPromiseExit(repeated, { signal });
  return Result.getOrThrowWith(outcome, (error) => error);
};
