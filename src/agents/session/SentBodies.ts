/**
 * The requests that an episode's clients have sent, so that one sent again for want of its answer is not sampled twice. Only a marked retry counts as
 * one: equal requests without a mark are samples of their own.
 */
import { createHash } from "node:crypto";
import { Deferred, Effect, Exit } from "effect";
import type { Problem } from "../../support/http/Problem.ts";
import type { ModelAnswer } from "../dialects/Dialect.ts";

/** One sending of a request. */
export interface Attempt {
  readonly body: string;
  /** The client says that it sent this request before (`x-stainless-retry-count` above 0). */
  readonly isRetry: boolean;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64");

export class SentBodies {
  /** The last answer to each body; null for one that was not answered. */
  readonly #answers = new Map<string, Deferred.Deferred<ModelAnswer | null>>();

  /** The answer that a retry missed, once it is there; else a fresh one. */
  answer({ body, isRetry }: Attempt, fresh: Effect.Effect<ModelAnswer, Problem>): Effect.Effect<ModelAnswer, Problem> {
    return Effect.gen({ self: this }, function* () {
      const key = digest(body);
      const earlier = isRetry ? this.#answers.get(key) : undefined;
      const missed = earlier === undefined ? null : yield* Deferred.await(earlier);
      if (missed !== null) return missed;
      const answered = Deferred.makeUnsafe<ModelAnswer | null>();
      this.#answers.set(key, answered);
      return yield* Effect.onExit(fresh, (exit) =>
        Deferred.succeed(answered, Exit.isSuccess(exit) ? exit.value : null),
      );
    });
  }
}
