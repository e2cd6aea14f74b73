/**
 * The newest weights version that every generator thread has adopted, and the fibers that wait for one. Invariant: once a thread is dead,
 * every waiting fiber and every later one fails at once.
 */
import { Effect } from "effect";
import type { Version } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";

interface Waiter {
  readonly version: Version;
  readonly resume: (result: Effect.Effect<void, PolicyError>) => void;
}

export class CommonVersion {
  readonly #versions: Version[];
  readonly #waiters = new Set<Waiter>();
  #failure: PolicyError | undefined;

  constructor(threads: number, initial: Version) {
    this.#versions = Array.from({ length: threads }, () => initial);
  }

  get newest(): Version {
    return Math.min(...this.#versions);
  }

  /** Returns the newest common version; fails once a thread is dead. */
  readonly newestOrFailure: Effect.Effect<Version, PolicyError> = Effect.suspend(() =>
    this.#failure === undefined ? Effect.succeed(this.newest) : Effect.fail(this.#failure),
  );

  recordAdoption(thread: number, version: Version): void {
    this.#versions[thread] = version;
    this.#resume(({ version: awaited }) => awaited <= this.newest, Effect.void);
  }

  fail(error: PolicyError): void {
    this.#failure ??= error;
    this.#resume(() => true, Effect.fail(error));
  }

  /** Suspends until every thread has at least `version`. */
  awaitVersion(version: Version): Effect.Effect<void, PolicyError> {
    return Effect.callback((resume) => {
      if (this.#failure !== undefined) {
        resume(Effect.fail(this.#failure));
        return;
      }
      if (this.newest >= version) {
        resume(Effect.void);
        return;
      }
      const waiter: Waiter = { version, resume };
      this.#waiters.add(waiter);
      return Effect.sync(() => {
        this.#waiters.delete(waiter);
      });
    });
  }

  #resume(isDue: (waiter: Waiter) => boolean, result: Effect.Effect<void, PolicyError>): void {
    for (const waiter of [...this.#waiters]) {
      if (!isDue(waiter)) continue;
      this.#waiters.delete(waiter);
      waiter.resume(result);
    }
  }
}
