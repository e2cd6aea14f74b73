/**
 * The client of a retrieval server. POST /retrieve {query, top_k} answers {results: [{id, content, score}]}, GET /health answers 200. A search
 * is repeated only if another attempt may succeed: the server cannot be reached, or its status is 500 or above. Invariant: a search ends
 * within the server's `timeoutMs`, and interruption ends it at once.
 */
import { Duration, Effect, Schema } from "effect";
import { errorDetail } from "../../../support/http/errorText.ts";
import { type RetryPolicy, retry } from "../../../support/http/retry.ts";
import { type HttpReply, send } from "../../../support/http/send.ts";
import { RetrievalFailure, type RetrievedDocument } from "./Retrieval.ts";
import type { ServerRetriever } from "./SearchConfig.ts";

const Results = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Array(
      Schema.Struct({
        id: Schema.optionalKey(Schema.Union([Schema.String, Schema.Number])),
        content: Schema.String,
        score: Schema.optionalKey(Schema.Finite),
      }),
    ),
  }),
);

/** The longest answer that is read; 50 documents of a passage each are far shorter. */
const maxBytes = 4 * 1024 * 1024;
const healthTimeoutMs = 5_000;

const failure = (reason: RetrievalFailure["reason"], message: string): RetrievalFailure =>
  new RetrievalFailure({ reason, message });

const documentsOf = (
  { body, status }: HttpReply,
  topK: number,
): Effect.Effect<readonly RetrievedDocument[], RetrievalFailure> => {
  if (status < 200 || status > 299) {
    const reason = status >= 500 ? "failed" : "refused";
    return Effect.fail(failure(reason, `The retrieval server answered with status ${status}${errorDetail(body)}.`));
  }
  const decoded = Schema.decodeUnknownOption(Results)(body);
  if (decoded._tag === "None") {
    return Effect.fail(failure("nonsense", "The retrieval server's answer cannot be read."));
  }
  return Effect.succeed(
    decoded.value.results
      .slice(0, topK)
      .map(({ content, id, score }, index) => ({ id: String(id ?? `doc_${index + 1}`), content, score: score ?? 0 })),
  );
};

/** The documents for a query, best first, at most `server.topK`. */
export const retrieve = Effect.fn("RetrievalServer.retrieve")(function* (server: ServerRetriever, query: string) {
  const json = { query, top_k: server.topK };
  const policy: RetryPolicy = {
    firstMs: server.retryWaitMs,
    longestMs: server.timeoutMs,
    maxRetries: server.retries,
  };
  const attempt = send({ method: "POST", url: `${server.url}/retrieve`, json, maxBytes }).pipe(
    Effect.mapError(({ message }) => failure("unreachable", `The retrieval server cannot be reached: ${message}.`)),
    Effect.flatMap((reply) => documentsOf(reply, server.topK)),
  );
  return yield* retry(attempt, policy, {
    isRetryable: ({ reason }) => reason === "unreachable" || reason === "failed",
  }).pipe(
    Effect.timeoutOrElse({
      duration: Duration.millis(server.timeoutMs),
      orElse: () => Effect.fail(failure("timeout", `The search took longer than ${server.timeoutMs / 1000} seconds.`)),
    }),
  );
});

/** The reason why the server is not ready, or null if it is. */
export const healthProblem = Effect.fn("RetrievalServer.healthProblem")(function* (server: ServerRetriever) {
  const timeoutMs = Math.min(healthTimeoutMs, server.timeoutMs);
  return yield* send({ method: "GET", url: `${server.url}/health`, maxBytes, timeoutMs }).pipe(
    Effect.map(({ body, status }) => (status === 200 ? null : `it answers with status ${status}${errorDetail(body)}`)),
    Effect.catch(({ message, reason }) =>
      Effect.succeed(reason === "timeout" ? "it does not answer in time" : `it cannot be reached: ${message}`),
    ),
  );
});
