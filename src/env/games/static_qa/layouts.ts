/**
 * How each data set lays out a question: its columns by default, and how a row becomes a question. The files of these sets on the
 * Hugging Face hub load as they are: openai/gsm8k (`#### 18`), meta-math/MetaMathQA (`The answer is: 18`), TIGER-Lab/TheoremQA,
 * cais/mmlu (choices and an index); `plain` is any file with a question and its answer.
 */
import { Result, Schema } from "effect";
import type { Column } from "../dataset/RowReader.ts";
import type { Form } from "../dataset/Source.ts";
import { chosen } from "./judge.ts";
import { letterOf, type Question } from "./Question.ts";

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]);

const Fields = Schema.Struct({
  question: Schema.NonEmptyString,
  answer: Schema.Union([Scalar, Schema.Array(Scalar)]),
  choices: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The question that this one is a variant of; variants stay on one side of the split. */
  family: Schema.optionalKey(Schema.NullOr(Schema.String)),
  picture: Schema.optionalKey(Schema.Unknown),
});
export type Fields = typeof Fields.Type;

type Reading = Result.Result<Question, string>;

const textOf = (answer: Fields["answer"]): string => {
  if (typeof answer === "boolean") return answer ? "True" : "False";
  return typeof answer === "object" ? `[${answer.join(", ")}]` : String(answer).trim();
};

const asked = ({ question }: Fields, gold: string): Reading =>
  gold === "" ? Result.fail("the answer is empty") : Result.succeed({ text: question.trim(), gold, choices: null });

/** The answer stands after the last marker of a worked solution. */
const after =
  (marker: string) =>
  (fields: Fields): Reading => {
    const solution = textOf(fields.answer);
    const at = solution.lastIndexOf(marker);
    return at < 0
      ? Result.fail(`no "${marker}" in the answer`)
      : asked(fields, solution.slice(at + marker.length).trim());
  };

const plain = (fields: Fields): Reading => asked(fields, textOf(fields.answer));

/** How the sets write that there is no picture. */
const absent = (picture: unknown): boolean =>
  picture === undefined ||
  picture === null ||
  (typeof picture === "string" && ["", "none"].includes(picture.trim().toLowerCase()));

const theorem = (fields: Fields): Reading =>
  absent(fields.picture) ? plain(fields) : Result.fail("asks about a picture");

const mostChoices = 26;

/** An index, a letter or the words of a choice. */
const choice = (answer: Fields["answer"], choices: readonly string[]): string | null => {
  const index = typeof answer === "string" && /^\d+$/.test(answer.trim()) ? Number(answer) : answer;
  if (typeof index === "number") return Number.isInteger(index) && index in choices ? letterOf(index) : null;
  return chosen(textOf(answer), choices);
};

const multipleChoice = ({ answer, choices = [], question }: Fields): Reading => {
  if (choices.length < 2 || choices.length > mostChoices) {
    return Result.fail(`expected 2 to ${mostChoices} choices, got ${choices.length}`);
  }
  const gold = choice(answer, choices);
  if (gold === null) return Result.fail(`the answer ${JSON.stringify(answer)} is none of its choices`);
  const listed = choices.map((text, index) => `${letterOf(index)}. ${text.trim()}`);
  return Result.succeed({ text: [question.trim(), ...listed].join("\n"), gold, choices });
};

/** The file's column of each field; empty: none. */
export type Columns = Readonly<Record<keyof Fields, string>>;

export interface Layout {
  readonly columns: Columns;
  readonly form: Form<Fields, Question>;
}

const form = (read: (fields: Fields) => Reading): Form<Fields, Question> => ({
  schema: Fields,
  row: read,
  key: (fields) => fields.family || [fields.question, ...(fields.choices ?? [])].join("\n"),
});

const none = { choices: "", family: "", picture: "" };

export const layouts = {
  gsm8k: { columns: { ...none, question: "question", answer: "answer" }, form: form(after("####")) },
  metamathqa: {
    columns: { ...none, question: "query", answer: "response", family: "original_question" },
    form: form(after("The answer is:")),
  },
  theoremqa: { columns: { ...none, question: "Question", answer: "Answer", picture: "Picture" }, form: form(theorem) },
  mmlu: {
    columns: { ...none, question: "question", answer: "answer", choices: "choices" },
    form: form(multipleChoice),
  },
  plain: { columns: { ...none, question: "question", answer: "answer" }, form: form(plain) },
} as const satisfies Readonly<Record<string, Layout>>;

export type LayoutName = keyof typeof layouts;

export const layoutNames = Object.keys(layouts) as readonly LayoutName[];

export const columnsOf = (names: Columns): Readonly<Record<string, Column>> =>
  Object.fromEntries(
    Object.entries(names)
      .filter(([, name]) => name !== "")
      .map(([fieldName, name]) => [fieldName, { name, required: !["family", "picture"].includes(fieldName) }]),
  );
