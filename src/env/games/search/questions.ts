/** The source of questions and their accepted answers under a configuration. Invariant: every question has an answer. */
import { Result, Schema } from "effect";
import type { RowForm, Source } from "../dataset/Source.ts";
import { questionFiles, type SearchConfig } from "./SearchConfig.ts";

export interface SearchQuestion {
  readonly question: string;
  readonly answers: readonly string[];
}

const Fields = Schema.Struct({
  question: Schema.NonEmptyString,
  answer: Schema.Union([Schema.String, Schema.Number, Schema.Array(Schema.Union([Schema.String, Schema.Number]))]),
});
type Fields = typeof Fields.Type;

const form: RowForm<Fields, SearchQuestion> = {
  schema: Fields,
  row: ({ answer, question }) => {
    const answers = (Array.isArray(answer) ? answer : [answer]).map((text) => String(text).trim()).filter(Boolean);
    return answers.length === 0 ? Result.fail("the question has no answer") : Result.succeed({ question, answers });
  },
  key: ({ question }) => question,
};

export const questionSource = (config: SearchConfig): Source<Fields, SearchQuestion> => ({
  files: questionFiles(config),
  columns: {
    question: { name: config.question_key, required: true },
    answer: { name: config.answer_key, required: true },
  },
  form,
});
