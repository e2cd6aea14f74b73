/**
 * Runs one search with the configured retriever. It gives documents, or the failure that the model reads, and rejects only if it is aborted
 * or if the local folder cannot be read.
 */
import { Effect, Result } from "effect";
import { localIndex } from "./LocalIndex.ts";
import type { RetrievalFailure, RetrievedDocument } from "./Retrieval.ts";
import { healthProblem, retrieve } from "./RetrievalServer.ts";
import type { Retriever } from "./SearchConfig.ts";

/** Loads the local index, if the retriever has one. */
export const loadRetriever = async (retriever: Retriever): Promise<void> => {
  if (retriever.type === "bm25") await localIndex(retriever.folder);
};

export const lookUp = async (
  retriever: Retriever,
  query: string,
  signal: AbortSignal,
): Promise<Result.Result<readonly RetrievedDocument[], RetrievalFailure>> => {
  // An empty query matches nothing; a server may refuse it.
  if (query.trim() === "") return Result.succeed([]);
  if (retriever.type === "server") return Effect.runPromise(Effect.result(retrieve(retriever, query)), { signal });
  const index = await localIndex(retriever.folder);
  return Result.succeed(index.search(query, retriever.topK));
};

/** One sentence with the reason why searches cannot run and the key to set; null if they can. */
export const missingRetriever = async (retriever: Retriever): Promise<string | null> => {
  if (retriever.type === "bm25") {
    return localIndex(retriever.folder).then(
      () => null,
      (cause: unknown) =>
        `${cause instanceof Error ? cause.message : String(cause)}; set env_config.retriever.folder to a folder of documents`,
    );
  }
  const why = await Effect.runPromise(healthProblem(retriever));
  if (why === null) return null;
  return (
    `the retrieval server at ${retriever.url} is not ready (${why}); start it, or set env_config.retriever.url; ` +
    "env_config.retriever.type=bm25 searches a local folder without a server"
  );
};
