/** Configurations of SearchQA: the shipped library behind BM25, or a stand-in server, with other keys in the place of their defaults. */
import { SearchConfig } from "../../../../src/env/games/search/SearchConfig.ts";
import { configsOf } from "../../../build/config.ts";

const questions = { path: "config/data/search/train.jsonl", val_path: "config/data/search/val.jsonl" };

export const configWith = configsOf(SearchConfig);

export const local = (keys: Readonly<Record<string, unknown>> = {}): SearchConfig =>
  configWith({ ...questions, retriever: { type: "bm25" }, ...keys });

export const remote = (
  url: string,
  retriever: Readonly<Record<string, unknown>> = {},
  keys: Readonly<Record<string, unknown>> = {},
): SearchConfig => configWith({ ...questions, retriever: { url, retry_wait_ms: 1, ...retriever }, ...keys });
