/**
 * Reads a row of a data file as a programming task: a problem with its tests. Rows are ours, or DeepCoder-Preview's in any of its
 * three notations of tests: a list of tests that say their kind, the same with the function's name in each, and lists of inputs and of
 * outputs. Invariant: every task has a test, and all its tests are of one kind.
 */
import { Result, Schema } from "effect";
import { exactJson } from "../../sandbox/exactJson.ts";
import type { Test } from "../../sandbox/Grade.ts";
import { filesOf } from "../dataset/DataFiles.ts";
import type { Form, Source } from "../dataset/Source.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";

export interface Task {
  readonly name: string;
  readonly problem: string;
  /** The function asked for; null asks for a program that reads its input and writes its output. */
  readonly entry: string | null;
  /** Names of the function's parameters, where they are known. */
  readonly parameters: readonly string[] | null;
  /** Code the answer is to complete; may be empty. Tasks with starter code expect the usual imports to be there. */
  readonly starter: string;
  readonly tests: readonly Test[];
  /** The first tests, shown with the problem. */
  readonly examples: number;
}

const identifier = /^[A-Za-z_]\w*$/;

const Fields = Schema.Struct({
  problem: Schema.NonEmptyString,
  tests: Schema.Unknown,
  starter: Schema.optionalKey(Schema.Unknown),
  metadata: Schema.optionalKey(Schema.Unknown),
  name: Schema.optionalKey(Schema.Unknown),
  entry: Schema.optionalKey(Schema.NullOr(Schema.String)),
  parameters: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  examples: Schema.optionalKey(Schema.Int),
});
type Fields = typeof Fields.Type;

type Record = Readonly<{ [key: string]: unknown }>;

const isRecord = (value: unknown): value is Record =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The value of a column that holds values or JSON text, with numbers as they are written; undefined for text that is no JSON. */
const parsed = (value: unknown): unknown => {
  if (typeof value !== "string") return value;
  try {
    return exactJson(value);
  } catch {
    return undefined;
  }
};

interface RawTest {
  readonly input: unknown;
  readonly output: unknown;
  /** Whether it tests a function, not a program; null where the notation does not say. */
  readonly functional: boolean | null;
  readonly entry: string | null;
  /** The notation may or may not wrap a function's result in an array; both are right. */
  readonly wrapped: boolean;
}

const nameIn = (value: unknown): string | null => (textOf(value) === "" ? null : textOf(value));

/** The tests, in any of the notations; null where they are in none of them. */
const rawTests = (tests: unknown): readonly RawTest[] | null => {
  if (isRecord(tests) && Array.isArray(tests.inputs) && Array.isArray(tests.outputs)) {
    const { fn_name, inputs, outputs } = tests as { fn_name?: unknown; inputs: unknown[]; outputs: unknown[] };
    const entry = nameIn(fn_name);
    return inputs
      .slice(0, outputs.length)
      .map((input, at) => ({ input, output: outputs[at], functional: entry !== null, entry, wrapped: entry !== null }));
  }
  if (!Array.isArray(tests)) return null;
  const list: RawTest[] = [];
  for (const test of tests as unknown[]) {
    if (!isRecord(test) || test.input === undefined || test.output === undefined) return null;
    const kind = textOf(test.testtype ?? test.type);
    const { metadata } = test;
    const entry = nameIn(test.fn_name) ?? (isRecord(metadata) ? nameIn(metadata.func_name) : null);
    list.push({
      input: test.input,
      output: test.output,
      functional: kind === "" ? null : kind.startsWith("func"),
      entry,
      wrapped: kind === "function_call",
    });
  }
  return list;
};

/** The arguments as a JSON array: given as one, or a line of JSON each. */
const argumentsOf = (input: unknown): string | null => {
  if (Array.isArray(input)) return JSON.stringify(input);
  if (typeof input !== "string") return null;
  const lines = input.split("\n").filter((line) => line.trim() !== "");
  return lines.every((line) => parsed(line) !== undefined) ? `[${lines.join(",")}]` : null;
};

const functionTest = ({ input, output, wrapped }: RawTest, ours: boolean): Test | null => {
  const args = argumentsOf(input);
  // In our rows a string is the result itself; in the others it is the JSON text of the result.
  const result = ours || typeof output !== "string" || parsed(output) === undefined ? JSON.stringify(output) : output;
  if (args === null) return null;
  const inner = wrapped && Array.isArray(output) && output.length === 1 ? [JSON.stringify(output[0])] : [];
  return { input: args, outputs: [result, ...inner] };
};

/** Text as it is; a list of lines, which some rows have, joined. */
const joined = (value: unknown): string | null => {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((line) => typeof line === "string")) return value.join("\n");
  return null;
};

const programTest = ({ input, output }: RawTest): Test | null => {
  const stdin = joined(input);
  const stdout = joined(output);
  return stdin === null || stdout === null ? null : { input: stdin, outputs: [stdout] };
};

/** The task of a row, or why it has none. */
export const taskOf = (fields: Fields): Result.Result<Task, string> => {
  const tests = rawTests(parsed(fields.tests));
  if (tests === null) return Result.fail("tests are neither a list of inputs with outputs nor lists of both");
  const [first] = tests;
  if (first === undefined) return Result.fail("no tests");
  const metadata = parsed(fields.metadata);
  const named = nameIn(fields.entry) ?? first.entry ?? (isRecord(metadata) ? nameIn(metadata.func_name) : null);
  const functional = first.functional ?? named !== null;
  if (tests.some((test) => (test.functional ?? functional) !== functional)) {
    return Result.fail("tests of a function and of a program");
  }
  if (functional && named === null) return Result.fail("tests of a function that has no name");
  if (functional && named !== null && !identifier.test(named)) {
    return Result.fail(`${JSON.stringify(named)} is no name of a function`);
  }
  const ours = nameIn(fields.entry) !== null;
  const made = tests.map((test) => (functional ? functionTest(test, ours) : programTest(test)));
  const unreadable = made.indexOf(null);
  if (unreadable >= 0) return Result.fail(`test ${unreadable + 1} cannot be read`);
  return Result.succeed({
    name: textOf(fields.name),
    problem: fields.problem.trim(),
    entry: functional ? named : null,
    parameters: fields.parameters ?? null,
    starter: textOf(fields.starter).trimEnd(),
    tests: made.filter((test) => test !== null),
    examples: Math.min(Math.max(fields.examples ?? 0, 0), made.length),
  });
};

const form: Form<Fields, Task> = { schema: Fields, row: taskOf, key: ({ problem }) => problem.trim() };

export const sourceOf = (config: DeepCoderConfig): Source<Fields, Task> => ({
  files: filesOf(config),
  columns: {
    problem: { name: config.columns.problem, required: true },
    tests: { name: config.columns.tests, required: true },
    starter: { name: config.columns.starter, required: false },
    metadata: { name: config.columns.metadata, required: false },
    name: { name: "name", required: false },
    entry: { name: "entry", required: false },
    parameters: { name: "parameters", required: false },
    examples: { name: "examples", required: false },
  },
  form,
});
