/**
 * The layouts of data sets: their default columns, and the step from a row to a question. The files of these sets on the Hugging Face hub load as
 * they are: openai/gsm8k (`#### 18`), meta-math/MetaMathQA (`The answer is: 18`), TIGER-Lab/TheoremQA, cais/mmlu (choices and an index).
 * `plain` is any file with a question and its answer.
 */
import { Result, Schema } from "effect";
import type { Column } from "../dataset/RowReader.ts";
import type { RowForm } from "../dataset/Source.ts";
import { chosenLetter } from "./answerMatching.ts";
import { letterOf, type QuizQuestion } from "./Question.ts";

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]);

const Fields = Schema.Struct({
  question: Schema.NonEmptyString,
  answer: Schema.Union([Scalar, Schema.Array(Scalar)]),
  choices: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The question of which this one is a variant; variants stay on one side of the split. */
  family: Schema.optionalKey(Schema.NullOr(Schema.String)),
  picture: Schema.optionalKey(Schema.Unknown),
});
export type Fields = typeof Fields.Type;

type QuestionResult = Result.Result<QuizQuestion, string>;

const textOf = (answer: Fields["answer"]): string => {
  if (typeof answer === "boolean") return answer ? "True" : "False";
  return typeof answer === "object" ? `[${answer.join(", ")}]` : String(answer).trim();
};

const freeQuestion = ({ question }: Fields, gold: string): QuestionResult =>
  gold === "" ? Result.fail("the answer is empty") : Result.succeed({ text: question.trim(), gold, choices: null });

/** Reads the answer after the last marker of a worked solution. */
const answerAfter =
  (marker: string) =>
  (fields: Fields): QuestionResult => {
    const solution = textOf(fields.answer);
    const at = solution.lastIndexOf(marker);
    return at < 0
      ? Result.fail(`no "${marker}" in the answer`)
      : freeQuestion(fields, solution.slice(at + marker.length).trim());
  };

const plainAnswer = (fields: Fields): QuestionResult => freeQuestion(fields, textOf(fields.answer));

/** True for the values by which the sets say that there is no picture. */
const isAbsent = (picture: unknown): boolean =>
  picture === undefined ||
  picture === null ||
  (typeof picture === "string" && ["", "none"].includes(picture.trim().toLowerCase()));

const theorem = (fields: Fields): QuestionResult =>
  isAbsent(fields.picture) ? plainAnswer(fields) : Result.fail("asks about a picture");

const mostChoices = 26;

/** The letter of the right choice, which a row gives as an index, a letter or the words. */
const choiceLetter = (answer: Fields["answer"], choices: readonly string[]): string | null => {
  const index = typeof answer === "string" && /^\d+$/.test(answer.trim()) ? Number(answer) : answer;
  if (typeof index === "number") return Number.isInteger(index) && index in choices ? letterOf(index) : null;
  return chosenLetter(textOf(answer), choices);
};

const multipleChoice = ({ answer, choices = [], question }: Fields): QuestionResult => {
  if (choices.length < 2 || choices.length > mostChoices) {
    return Result.fail(`expected 2 to ${mostChoices} choices, got ${choices.length}`);
  }
  const gold = choiceLetter(answer, choices);
  if (gold === null) return Result.fail(`the answer ${JSON.stringify(answer)} is none of its choices`);
  const listed = choices.map((text, index) => `${letterOf(index)}. ${text.trim()}`);
  return Result.succeed({ text: [question.trim(), ...listed].join("\n"), gold, choices });
};

/** The file's column of each field; an empty name means that the file has none. */
export type Columns = Readonly<Record<keyof Fields, string>>;

export interface Layout {
  readonly columns: Columns;
  readonly form: RowForm<Fields, QuizQuestion>;
}

const form = (read: (fields: Fields) => QuestionResult): RowForm<Fields, QuizQuestion> => ({
  schema: Fields,
  row: read,
  key: (fields) => fields.family || [fields.question, ...(fields.choices ?? [])].join("\n"),
});

const none = { choices: "", family: "", picture: "" };

export const layouts = {
  gsm8k: { columns: { ...none, question: "question", answer: "answer" }, form: form(answerAfter("####")) },
  metamathqa: {
    columns: { ...none, question: "query", answer: "response", family: "original_question" },
    form: form(answerAfter("The answer is:")),
  },
  theoremqa: { columns: { ...none, question: "Question", answer: "Answer", picture: "Picture" }, form: form(theorem) },
  mmlu: {
    columns: { ...none, question: "question", answer: "answer", choices: "choices" },
    form: form(multipleChoice),
  },
  plain: { columns: { ...none, question: "question", answer: "answer" }, form: form(plainAnswer) },
} as const satisfies Readonly<Record<string, Layout>>;

export type LayoutName = keyof typeof layouts;

export const layoutNames = Object.keys(layouts) as readonly LayoutName[];

export const columnsOf = (names: Columns): Readonly<Record<string, Column>> =>
  Object.fromEntries(
    Object.entries(names)
      .filter(([, name]) => name !== "")
      .map(([fieldName, name]) => [fieldName, { name, required: !["family", "picture"].includes(fieldName) }]),
  );
