/**
 * Runs one search with the configured retriever: documents, or the failure that the model is shown. Also says what is missing before
 * searches can run. Rejects only when it is aborted or the local folder cannot be read.
 */
import { Effect, Result } from "effect";
import { localIndex } from "./LocalIndex.ts";
import type { RetrievalFailure, Retrieved } from "./Retrieval.ts";
import { healthProblem, retrieve } from "./RetrievalServer.ts";
import type { Retriever } from "./SearchConfig.ts";

/** Loads what searches read. */
export const open = async (retriever: Retriever): Promise<void> => {
  if (retriever.type === "bm25") await localIndex(retriever.folder);
};

export const lookUp = async (
  retriever: Retriever,
  query: string,
  signal: AbortSignal,
): Promise<Result.Result<readonly Retrieved[], RetrievalFailure>> => {
  // An empty query matches nothing; a server may refuse it.
  if (query.trim() === "") return Result.succeed([]);
  if (retriever.type === "server") return Effect.runPromise(Effect.result(retrieve(retriever, query)), { signal });
  const index = await localIndex(retriever.folder);
  return Result.succeed(index.search(query, retriever.topK));
};

/** Why searches cannot be answered, a sentence that says which key to set; null where they can. */
export const missing = async (retriever: Retriever): Promise<string | null> => {
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
