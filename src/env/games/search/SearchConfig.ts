/**
 * `env_config` of SearchQA. The section `retriever` is one for both kinds of retriever, so that an override may change the kind alone. The keys
 * of the data are those of every environment with data. RAGEN's names of these keys are accepted too, and win if they are given:
 * `retrieverOf` and `questionFiles` resolve them.
 */
import { Schema } from "effect";
import {
  aboveZero,
  count,
  field,
  fraction,
  milliseconds,
  millisecondsOrNone,
  positive,
  reward,
  section,
  steps,
  whole,
} from "../../../config/field.ts";
import { type DataFiles, dataFiles } from "../dataset/DataFiles.ts";
import { renderMode } from "../GridText.ts";

/** The number of documents, of which RAGEN never requests more. */
const topK = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }));
const Url = Schema.String.check(
  Schema.makeFilter((text) => /^https?:\/\/[^/]/.test(text) && URL.canParse(text), { expected: "an http address" }),
);

const RetrieverSection = Schema.Struct({
  type: field(
    Schema.Literals(["server", "bm25"]),
    "server",
    "Kind of the retriever that answers searches: a retrieval server, or BM25 over a local folder.",
  ),
  top_k: field(topK, 5, "Number of documents that a search shows."),
  url: field(
    Url,
    "http://127.0.0.1:8000",
    "server: address of the server, which answers POST /retrieve and GET /health.",
  ),
  timeout_ms: field(milliseconds, 30_000, "server: milliseconds after which a search has failed, retries included."),
  retries: field(
    whole(0, 100),
    2,
    "server: further tries when the server cannot be reached or answers with a status from 500.",
  ),
  retry_wait_ms: field(
    millisecondsOrNone,
    200,
    "server: milliseconds before the first retry, doubled for each further one.",
  ),
  in_flight: field(whole(1, 4_096), 32, "Searches under way at once."),
  folder: field(
    Schema.NonEmptyString,
    "config/data/search/corpus",
    "bm25: a folder of .txt, .md and .jsonl documents.",
  ),
});

const ragenSpelling = "RAGEN's spelling";

export const SearchConfig = Schema.Struct({
  // RAGEN's validation asks the questions it trains on: val_share 0.
  ...dataFiles("data/search/train.parquet", 0),
  max_rows: field(count, 20_000, "Rows read from the start of path; 0 reads all."),
  question_key: field(Schema.NonEmptyString, "question", "Column of the question."),
  answer_key: field(Schema.NonEmptyString, "ground_truth", "Column of the answer, or of a list of accepted answers."),
  max_steps: field(steps, 10, "Actions after which an episode ends without an answer."),
  max_doc_chars: field(whole(1, 1_000_000), 800, "Characters shown of one document."),
  max_total_chars: field(whole(1, 1_000_000), 4_000, "Characters shown of all documents of one search."),
  correct_reward: field(reward, 1, "Reward of an exact match; a partial match earns its F1 of it."),
  incorrect_reward: field(reward, 0, "Reward of an answer below the threshold."),
  f1_threshold: field(fraction, 0.3, "The least F1 that counts as a partial match."),
  render_mode: renderMode,
  retriever: section(RetrieverSection, "The retriever that answers searches."),
  train_path: field(Schema.NullOr(Schema.NonEmptyString), null, `${ragenSpelling} of path; null leaves it.`),
  max_instances: field(Schema.NullOr(positive), null, `${ragenSpelling} of max_rows; null leaves it.`),
  max_search_results: field(Schema.NullOr(topK), null, `${ragenSpelling} of retriever.top_k; null leaves it.`),
  retrieval_server_url: field(Schema.NullOr(Url), null, `${ragenSpelling} of retriever.url; null leaves it.`),
  retrieval_timeout: field(
    Schema.NullOr(aboveZero(86_400)),
    null,
    `${ragenSpelling} of retriever.timeout_ms, in seconds; null leaves it.`,
  ),
  mock_mode: field(
    Schema.Boolean,
    false,
    `${ragenSpelling} of retriever.type=bm25: no server is asked (RAGEN shows placeholders, here the local folder answers).`,
  ),
});
export type SearchConfig = typeof SearchConfig.Type;

/** The files of questions, RAGEN's names resolved. */
export const questionFiles = (config: SearchConfig): DataFiles => ({
  path: config.train_path ?? config.path,
  val_path: config.val_path,
  val_share: config.val_share,
  max_rows: config.max_instances ?? config.max_rows,
});

export interface ServerRetriever {
  readonly type: "server";
  /** The address without a slash at its end. */
  readonly url: string;
  readonly topK: number;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly retryWaitMs: number;
}

export interface LocalRetriever {
  readonly type: "bm25";
  readonly folder: string;
  readonly topK: number;
}

export type Retriever = ServerRetriever | LocalRetriever;

export const retrieverOf = (config: SearchConfig): Retriever => {
  const { folder, retries, retry_wait_ms, timeout_ms, top_k, type, url } = config.retriever;
  const topK = config.max_search_results ?? top_k;
  if (config.mock_mode || type === "bm25") return { type: "bm25", folder, topK };
  return {
    type,
    url: (config.retrieval_server_url ?? url).replace(/\/+$/, ""),
    topK,
    timeoutMs: config.retrieval_timeout === null ? timeout_ms : Math.ceil(1000 * config.retrieval_timeout),
    retries,
    retryWaitMs: retry_wait_ms,
  };
};
