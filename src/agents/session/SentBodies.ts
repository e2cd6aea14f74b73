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

/** A request's body as it was sent so far. */
interface SentBody {
  /** The answer of the last attempt; null if it was not answered. */
  last: Deferred.Deferred<ModelAnswer | null>;
  /** Number of attempts that were not answered and not sent again: equal requests may be samples of their own. */
  unanswered: number;
}

export class SentBodies {
  readonly #bodies = new Map<string, SentBody>();

  /** The answer that a retry missed, once it is there; else a fresh one. */
  answer({ body, isRetry }: Attempt, fresh: Effect.Effect<ModelAnswer, Problem>): Effect.Effect<ModelAnswer, Problem> {
    return Effect.gen({ self: this }, function* () {
      const key = digest(body);
      const earlier = this.#bodies.get(key);
      const missed = isRetry && earlier !== undefined ? yield* missedAnswer(earlier) : null;
      if (missed !== null) return missed;
      const last = Deferred.makeUnsafe<ModelAnswer | null>();
      const sent = this.#bodies.get(key) ?? { last, unanswered: 0 };
      sent.last = last;
      this.#bodies.set(key, sent);
      return yield* Effect.onExit(fresh, (exit) => {
        if (Exit.isFailure(exit)) sent.unanswered++;
        return Deferred.succeed(last, Exit.isSuccess(exit) ? exit.value : null);
      });
    });
  }
}

/** The answer that a retry missed; null if its first attempt got none. */
const missedAnswer = (sent: SentBody): Effect.Effect<ModelAnswer | null> =>
  Effect.suspend(() => {
    const answer = sent.unanswered > 0 ? Effect.succeed(null) : Deferred.await(sent.last);
    return Effect.tap(answer, (missed) =>
      Effect.sync(() => {
        if (missed === null) sent.unanswered = Math.max(0, sent.unanswered - 1);
      }),
    );
  });
