/**
 * `env_config` of the static question sets. `dataset` is the layout of the file; an empty column key takes the name that the set uses. Without a
 * `path` a stand-in is played: a small set of ours, which is no benchmark.
 */
import { Schema } from "effect";
import { field } from "../../../config/field.ts";
import { dataFiles, filesOf } from "../dataset/DataFiles.ts";
import type { Source } from "../dataset/Source.ts";
import { matchingKeys } from "./answerMatching.ts";
import { columnsOf, type Fields, type LayoutName, layoutNames, layouts } from "./layouts.ts";
import type { QuizQuestion } from "./Question.ts";

/** The stand-ins for sets without a path; `plain` names no set. */
export const standIns: Readonly<Record<LayoutName, string | null>> = {
  gsm8k: "config/data/questions/word_problems.jsonl",
  metamathqa: "config/data/questions/rephrased_problems.jsonl",
  theoremqa: "config/data/questions/theorems.jsonl",
  mmlu: "config/data/questions/general_knowledge.jsonl",
  plain: null,
};

const column = (content: string) => field(Schema.String, "", `Column of ${content}; empty takes the set's own.`);

const keys = Schema.Struct({
  dataset: field(
    Schema.Literals(layoutNames),
    "gsm8k",
    "Layout of the file: gsm8k (#### before the answer), metamathqa (The answer is:), theoremqa, mmlu (choices), or plain.",
  ),
  ...dataFiles(""),
  path: field(
    Schema.String,
    "",
    "Data file: .jsonl, .json (one array) or .parquet; empty takes a small stand-in of the set that comes with the package.",
  ),
  question_key: column("the question"),
  answer_key: column("the answer"),
  choices_key: column("the choices"),
  split_key: column("the value that decides a row's side of the split, for sets with variants of one question"),
  ...matchingKeys("number"),
  match: field(
    Schema.Literals(["text", "number", "ragen"]),
    "number",
    "Rule for a right answer. text: equal as text but for white space and case; number: also equal as a number or a list of numbers; ragen: RAGEN's grading of the set (gsm8k: the first unsigned number, mmlu: the first letter A to D, punctuation dropped).",
  ),
});

export const StaticQAConfig = keys.check(
  Schema.makeFilter((config) =>
    config.path === "" && standIns[config.dataset] === null
      ? { path: ["path"], issue: `dataset ${config.dataset} needs a file of its own` }
      : undefined,
  ),
);
export type StaticQAConfig = typeof StaticQAConfig.Type;

export const sourceOf = (config: StaticQAConfig): Source<Fields, QuizQuestion> => {
  const { columns, form } = layouts[config.dataset];
  return {
    files: { ...filesOf(config), path: config.path === "" ? (standIns[config.dataset] ?? "") : config.path },
    columns: columnsOf({
      question: config.question_key || columns.question,
      answer: config.answer_key || columns.answer,
      choices: config.choices_key || columns.choices,
      family: config.split_key || columns.family,
      picture: columns.picture,
    }),
    form,
  };
};
