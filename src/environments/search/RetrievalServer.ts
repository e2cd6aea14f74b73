/**
 * The client of a retrieval server: a query enters, documents leave, or a `RetrievalFailure`. POST /retrieve {query, top_k} answers
 * {results: [{id, content, score}]}, GET /health answers 200. Only what another try may mend is tried again: a server that cannot be
 * reached, and a status from 500. Invariant: an answer or a failure comes within the server's `timeoutMs`, and interruption ends the
 * request at once.
 */
import { Duration, Effect, Schedule, Schema } from "effect";
import { ask, type Reply } from "../../env/http.ts";
import { RetrievalFailure, type Retrieved } from "./Retrieval.ts";
import type { Server } from "./SearchConfig.ts";

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

const Complaint = Schema.fromJsonString(Schema.Struct({ error: Schema.String }));

/** No honest answer is longer: 50 documents of a passage each. */
const mostBytes = 4 * 1024 * 1024;
const healthTimeoutMs = 5_000;

const failure = (reason: RetrievalFailure["reason"], message: string): RetrievalFailure =>
  new RetrievalFailure({ reason, message });

/** What the server says of its own failure, if it does. */
const complaint = (body: string | null): string => {
  const said = Schema.decodeUnknownOption(Complaint)(body);
  return said._tag === "Some" ? ` (${said.value.error.slice(0, 200)})` : "";
};

const documentsOf = ({ body, status }: Reply, topK: number): Effect.Effect<readonly Retrieved[], RetrievalFailure> => {
  if (status < 200 || status > 299) {
    const reason = status >= 500 ? "failed" : "refused";
    return Effect.fail(failure(reason, `The retrieval server answered with status ${status}${complaint(body)}.`));
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

export const retrieve = Effect.fn("RetrievalServer.retrieve")(function* (server: Server, query: string) {
  const request: RequestInit = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, top_k: server.topK }),
  };
  return yield* ask(`${server.url}/retrieve`, request, mostBytes).pipe(
    Effect.mapError((why) => failure("unreachable", `The retrieval server cannot be reached: ${why}.`)),
    Effect.flatMap((reply) => documentsOf(reply, server.topK)),
    Effect.retry({
      schedule: Schedule.exponential(Duration.millis(server.retryWaitMs)),
      times: server.retries,
      while: ({ reason }) => reason === "unreachable" || reason === "failed",
    }),
    Effect.timeoutOrElse({
      duration: Duration.millis(server.timeoutMs),
      orElse: () => Effect.fail(failure("timeout", `The search took longer than ${server.timeoutMs / 1000} seconds.`)),
    }),
  );
});

/** Why the server is not ready, or null when it is. */
export const ailment = Effect.fn("RetrievalServer.ailment")(function* (server: Server) {
  return yield* ask(`${server.url}/health`, {}, mostBytes).pipe(
    Effect.map(({ body, status }) => (status === 200 ? null : `it answers with status ${status}${complaint(body)}`)),
    Effect.timeoutOrElse({
      duration: Duration.millis(Math.min(healthTimeoutMs, server.timeoutMs)),
      orElse: () => Effect.succeed("it does not answer in time"),
    }),
    Effect.catch((why) => Effect.succeed(`it cannot be reached: ${why}`)),
  );
});
