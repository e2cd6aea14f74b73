/**
 * Tries something again that may be repeated. Enters: how often and how long to wait, a stream for the jitter, one attempt; leaves: the
 * first success, or the last failure. Only failures that come before anything was played are tried again.
 */
import type { Random } from "../domain/Random.ts";
import { waitMs } from "./Connection.ts";
import { RemoteError, repeatable } from "./RemoteError.ts";

export interface Patience {
  readonly retries: number;
  readonly retry_wait_ms: number;
}

/** Resolves after `ms`, or at once when nobody waits any more. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    if (signal.aborted) wake();
    else signal.addEventListener("abort", wake, { once: true });
  });

export const retrying = async <A>(
  { retries, retry_wait_ms }: Patience,
  random: Random | null,
  signal: AbortSignal,
  attempt: () => Promise<A>,
): Promise<A> => {
  for (let tried = 0; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RemoteError) || !repeatable(error) || tried >= retries || signal.aborted) throw error;
      await pause(waitMs(retry_wait_ms, tried, random === null ? null : random.uniform()), signal);
      if (signal.aborted) throw error;
    }
  }
};
