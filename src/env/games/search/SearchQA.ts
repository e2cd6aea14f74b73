/**
 * SearchQA: a question, searches over a collection of documents, and one answer. `search[query]` shows the best documents, `finish[answer]` ends
 * the episode with the answer's reward, and any other text counts as an answer without the form. As in RAGEN, a failed search costs only
 * its turn, and seeds count through the questions.
 */
import { Result } from "effect";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../contract/Environment.ts";
import * as Dataset from "../dataset/Dataset.ts";
import { extractAnswer } from "./extractAnswer.ts";
import { loadRetriever, lookUp, missingRetriever } from "./lookUp.ts";
import { questionSource } from "./questions.ts";
import { type RetrievedDocument, retrievedText, truncate } from "./Retrieval.ts";
import { searchAction } from "./SearchAction.ts";
import { retrieverOf, SearchConfig } from "./SearchConfig.ts";
import { rewardOf, scoreOf } from "./score.ts";

/** The result of the last action. */
export type ActionResult =
  | { readonly _tag: "Nothing" }
  /** The documents' contents are cut as prompts show them. */
  | { readonly _tag: "Found"; readonly query: string; readonly documents: readonly RetrievedDocument[] }
  | { readonly _tag: "Failed"; readonly query: string; readonly why: string }
  | { readonly _tag: "Empty" }
  /** `extracted` is true if the answer was found in a text without the form. */
  | {
      readonly _tag: "Answered";
      readonly answer: string;
      readonly extracted: boolean;
      readonly reward: number;
      readonly success: boolean;
    };

export interface SearchState {
  readonly question: string;
  readonly answers: readonly string[];
  /** The number of actions taken. */
  readonly steps: number;
  readonly seen: ActionResult;
}

export interface SearchInfo extends BaseInfo {
  readonly total_searches: number;
  readonly total_retrieval_failures: number;
  readonly final_em: boolean;
  readonly final_f1: number;
}

const reset = async (config: SearchConfig, instance: Random, split: Split): Promise<SearchState> => {
  const rows = (await Dataset.load(questionSource(config)))[split];
  const { answers, question } = rows[instance.key.seed % rows.length]!;
  return { question, answers, steps: 0, seen: { _tag: "Nothing" } };
};

/** The transition to a state; all flags follow from the state. */
const transitionTo = (
  config: SearchConfig,
  state: SearchState,
  fields: Partial<SearchInfo> & Pick<SearchInfo, "action_is_effective" | "action_is_valid">,
): Transition<SearchState, SearchInfo> => {
  const { seen, steps } = state;
  const terminated = seen._tag === "Answered";
  return {
    state,
    reward: 0,
    terminated,
    truncated: !terminated && steps >= config.max_steps,
    info: {
      success: terminated && seen.success,
      total_searches: 0,
      total_retrieval_failures: 0,
      final_em: false,
      final_f1: 0,
      ...fields,
    },
  };
};

const search = async (
  config: SearchConfig,
  state: SearchState,
  query: string,
  signal: AbortSignal,
): Promise<Transition<SearchState, SearchInfo>> => {
  const retrieval = await lookUp(retrieverOf(config), query, signal);
  const result: ActionResult = Result.isSuccess(retrieval)
    ? {
        _tag: "Found",
        query,
        documents: retrieval.success.map((document) => ({
          ...document,
          content: truncate(document.content, config.max_doc_chars),
        })),
      }
    : { _tag: "Failed", query, why: retrieval.failure.message };
  return transitionTo(
    config,
    { ...state, seen: result },
    {
      action_is_effective: true,
      action_is_valid: true,
      total_searches: 1,
      total_retrieval_failures: result._tag === "Failed" ? 1 : 0,
    },
  );
};

const answer = (
  config: SearchConfig,
  state: SearchState,
  text: string,
  extracted: boolean,
): Transition<SearchState, SearchInfo> => {
  const score = scoreOf(text, state.answers);
  const reward = rewardOf(score, config);
  const result: ActionResult = { _tag: "Answered", answer: text, extracted, reward, success: score.em || reward > 0 };
  const fields = { final_em: score.em, final_f1: score.f1, action_is_effective: true, action_is_valid: !extracted };
  return { ...transitionTo(config, { ...state, seen: result }, fields), reward };
};

const step = async (
  config: SearchConfig,
  before: SearchState,
  written: string,
  _noise: Random,
  signal: AbortSignal,
): Promise<Transition<SearchState, SearchInfo>> => {
  if (before.seen._tag === "Answered" || before.steps >= config.max_steps) {
    return transitionTo(config, before, { action_is_effective: false, action_is_valid: true });
  }
  const state = { ...before, steps: before.steps + 1 };
  const action = searchAction(written);
  switch (action._tag) {
    case "Search":
      return search(config, state, action.query, signal);
    case "Finish":
      return answer(config, state, action.answer, false);
    case "Other":
      return answer(config, state, extractAnswer(action.text), true);
    case "Empty": {
      const result: ActionResult = { _tag: "Empty" };
      return transitionTo(config, { ...state, seen: result }, { action_is_effective: false, action_is_valid: false });
    }
  }
};

const available = "Available actions: search[<query>], finish[<answer>]";

const resultText = (config: SearchConfig, { question, seen }: SearchState): string => {
  switch (seen._tag) {
    case "Nothing":
      return `Question: ${question}`;
    case "Found":
      return `Results of the search for "${seen.query}":\n${retrievedText(seen.documents, config.max_total_chars)}\n`;
    case "Failed":
      return `The search for "${seen.query}" failed. ${seen.why}\n`;
    case "Empty":
      return "This is no action. Write search[<query>] to search or finish[<answer>] to answer.";
    case "Answered":
      return `Your answer${seen.extracted ? " (taken from your text)" : ""}: ${seen.answer}. Reward: ${seen.reward.toFixed(2)}`;
  }
};

const render = (config: SearchConfig, state: SearchState): string => {
  const text = resultText(config, state);
  if (state.seen._tag === "Answered") return text;
  return `${text}\n${state.steps >= config.max_steps ? "No more actions: the episode ends without an answer." : available}`;
};

/** The first words of a text, in ASCII. */
const gist = (text: string, words: number): string =>
  text
    .normalize("NFKD")
    .replace(/[^\x20-\x7e\s]/g, "")
    .split(/\s+/)
    .filter(Boolean)
    .slice(0, words)
    .join(" ");

const compact = (_config: SearchConfig, { question, seen }: SearchState): string => {
  switch (seen._tag) {
    case "Nothing":
      return gist(question, 40);
    case "Found":
      return seen.documents.length === 0 ? "nothing found" : gist(seen.documents[0]!.content, 40);
    case "Failed":
      return "search failed";
    case "Empty":
      return "no action";
    case "Answered":
      return `reward ${seen.reward.toFixed(2)}`;
  }
};

/** A step may take so many milliseconds longer than a search, so that the search's own limit comes first and the model reads of it. */
const graceMs = 5_000;
const localMs = 30_000;

export const SearchQA: AsyncEnvironment<SearchConfig, SearchState, SearchInfo> = {
  type: "search",
  config: SearchConfig,
  asynchronous: true,
  reset,
  step,
  render,
  compact,
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { question }) => `search:${question}`,
  capacity: ({ retriever }) => retriever.in_flight,
  timeoutMs: (config) => {
    const retriever = retrieverOf(config);
    return retriever.type === "server" ? retriever.timeoutMs + graceMs : localMs;
  },
  lacks: async (config) => {
    const files = (await Dataset.lacks(questionSource(config))).map(
      (problem) => `${problem}; set env_config.path to a file of questions`,
    );
    const retriever = await missingRetriever(retrieverOf(config));
    return retriever === null ? files : [...files, retriever];
  },
  report: (config) => Dataset.report(questionSource(config)),
  prepare: async (config) => {
    await Dataset.load(questionSource(config));
    await loadRetriever(retrieverOf(config));
  },
};
