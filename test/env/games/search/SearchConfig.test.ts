/** The questions and the retriever of a configuration, also when it uses RAGEN's own keys. */
import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { keyInfos } from "../../../../src/config/describe.ts";
import { questionFiles, retrieverOf, SearchConfig } from "../../../../src/env/games/search/SearchConfig.ts";
import { configWith } from "./config.ts";

const fails = (keys: Readonly<Record<string, unknown>>): boolean =>
  Schema.decodeUnknownResult(SearchConfig)(keys, { onExcessProperty: "error" })._tag === "Failure";

describe("the defaults", () => {
  it("are RAGEN's", () => {
    const { correct_reward, f1_threshold, incorrect_reward, max_doc_chars, max_steps, max_total_chars } = configWith();
    expect([max_steps, max_doc_chars, max_total_chars]).toEqual([10, 800, 4000]);
    expect([correct_reward, incorrect_reward, f1_threshold]).toEqual([1, 0, 0.3]);
    expect(retrieverOf(configWith())).toMatchObject({
      type: "server",
      url: "http://127.0.0.1:8000",
      topK: 5,
      timeoutMs: 30_000,
    });
    expect(questionFiles(configWith())).toEqual({
      path: "data/search/train.parquet",
      val_path: "",
      val_share: 0,
      max_rows: 20_000,
    });
  });

  it("are described, each of them", () => {
    expect(keyInfos(SearchConfig).filter(({ description }) => description === "")).toEqual([]);
  });
});

describe("the retriever", () => {
  it("changes its kind by one key", () => {
    expect(retrieverOf(configWith({ retriever: { type: "bm25", folder: "books", top_k: 3 } }))).toEqual({
      type: "bm25",
      folder: "books",
      topK: 3,
    });
  });

  it("has an address without a slash at its end", () => {
    expect(retrieverOf(configWith({ retriever: { url: "http://far:1/api//" } }))).toMatchObject({
      url: "http://far:1/api",
    });
  });
});

describe("RAGEN's keys", () => {
  it("win over ours", () => {
    const ragens = {
      train_path: "hotpot.parquet",
      max_instances: 7,
      max_search_results: 3,
      retrieval_server_url: "http://far:9000/",
      retrieval_timeout: 1.5,
    };
    const config = configWith({ path: "mine.jsonl", retriever: { top_k: 9, timeout_ms: 9 }, ...ragens });
    expect(retrieverOf(config)).toMatchObject({ type: "server", url: "http://far:9000", topK: 3, timeoutMs: 1500 });
    expect(questionFiles(config)).toMatchObject({ path: "hotpot.parquet", max_rows: 7 });
  });

  it("mean the local index by mock_mode", () => {
    expect(retrieverOf(configWith({ mock_mode: true })).type).toBe("bm25");
  });
});

describe("a value that cannot be used", () => {
  it.each([
    [{ retriever: { url: "far:9000" } }],
    [{ retriever: { url: "ftp://far" } }],
    [{ retriever: { url: "http://" } }],
    [{ retriever: { top_k: 0 } }],
    [{ retriever: { top_k: 51 } }],
    [{ retriever: { type: "dense" } }],
    [{ retriever: { index: "x" } }],
    [{ retrieval_timeout: 0 }],
    [{ f1_threshold: 2 }],
    [{ max_steps: 0 }],
  ])("is refused: %j", (keys) => {
    expect(fails(keys)).toBe(true);
  });
});
