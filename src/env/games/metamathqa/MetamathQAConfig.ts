/**
 * `env_config` of MetamathQA. The columns are those of meta-math/MetaMathQA, whose file loads as it is. Variants of one original
 * question stay on one side of the split. RAGEN draws training and validation from the same rows: that is `val_share: 0`.
 */
import { Schema } from "effect";
import { field } from "../../../config/field.ts";
import { dataFiles, filesOf } from "../dataset/DataFiles.ts";
import type { Source } from "../dataset/Source.ts";
import { instances } from "../instances.ts";
import { matchingKeys } from "../static_qa/answerMatching.ts";
import { columnsOf, type Fields, layouts } from "../static_qa/layouts.ts";
import type { QuizQuestion } from "../static_qa/Question.ts";

const { columns, form } = layouts.metamathqa;

/** The default data: a small set of ours in the layout of MetaMathQA. */
export const standIn = "config/data/questions/rephrased_problems.jsonl";

const keys = Schema.Struct({
  ...dataFiles(standIn),
  question_key: field(Schema.NonEmptyString, columns.question, "Column of the question."),
  answer_key: field(
    Schema.NonEmptyString,
    columns.answer,
    'Column of the worked solution; the answer follows its last "The answer is:".',
  ),
  split_key: field(
    Schema.String,
    columns.family,
    "Column that decides a row's side of the split: the question of which this one is a variant. Empty takes the question itself.",
  ),
  instances,
  ...matchingKeys("text"),
});

export const MetamathQAConfig = keys.check(
  Schema.makeFilter(({ instances, val_path, val_share }) =>
    instances === "ragen" && (val_share > 0 || val_path !== "")
      ? { path: ["instances"], issue: "ragen draws from all rows: it needs val_share 0 and no val_path" }
      : undefined,
  ),
);
export type MetamathQAConfig = typeof MetamathQAConfig.Type;

export const sourceOf = (config: MetamathQAConfig): Source<Fields, QuizQuestion> => ({
  files: filesOf(config),
  columns: columnsOf({
    ...columns,
    question: config.question_key,
    answer: config.answer_key,
    family: config.split_key,
  }),
  form,
});
