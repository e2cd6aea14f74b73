/**
 * Reads a row of a data file as a programming task: a problem with its tests. Rows are ours, or DeepCoder-Preview's in any of its three notations.
 * These are a list of tests with their kinds, such a list with function names, and a list of inputs beside one of outputs. Invariant: every
 * task has a test, and all its tests are of one kind.
 */
import { Result, Schema } from "effect";
import { exactJson } from "../../sandbox/exactJson.ts";
import type { Test, TestSuite } from "../../sandbox/Grade.ts";
import { filesOf } from "../dataset/DataFiles.ts";
import type { RowForm, Source } from "../dataset/Source.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";

export interface Task {
  readonly name: string;
  readonly problem: string;
  /** The requested function; null requests a program that reads its input and writes its output. */
  readonly entry: string | null;
  /** The names of the function's parameters; null if the row has none. */
  readonly parameters: readonly string[] | null;
  /** The code that the answer completes; may be empty. Tasks with starter code take the usual imports for granted. */
  readonly starter: string;
  readonly tests: readonly Test[];
  /** So many of the first tests are shown with the problem. */
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

/** The value of a column with values or JSON text; numbers keep their spelling. Undefined for text that is not JSON. */
const parseColumn = (value: unknown): unknown => {
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
  /** True for a test of a function, false for one of a program; null if the notation does not say. */
  readonly functional: boolean | null;
  readonly entry: string | null;
  /** The notation may or may not wrap a function's result in an array; both are right. */
  readonly wrapped: boolean;
}

const nameIn = (value: unknown): string | null => (textOf(value) === "" ? null : textOf(value));

/** The tests in any of the notations; null if they are in none of them. */
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

/** The arguments as a JSON array. The input is such an array, or has one line of JSON for each argument. */
const argumentsOf = (input: unknown): string | null => {
  if (Array.isArray(input)) return JSON.stringify(input);
  if (typeof input !== "string") return null;
  const lines = input.split("\n").filter((line) => line.trim() !== "");
  return lines.every((line) => parseColumn(line) !== undefined) ? `[${lines.join(",")}]` : null;
};

const functionTest = ({ input, output, wrapped }: RawTest, ours: boolean): Test | null => {
  const args = argumentsOf(input);
  // In our rows a string is the result itself; in the others it is the JSON text of the result.
  const result =
    ours || typeof output !== "string" || parseColumn(output) === undefined ? JSON.stringify(output) : output;
  if (args === null) return null;
  const inner = wrapped && Array.isArray(output) && output.length === 1 ? [JSON.stringify(output[0])] : [];
  return { input: args, outputs: [result, ...inner] };
};

/** A text as it is, or the lines of a list, which some rows have, joined. */
const joinLines = (value: unknown): string | null => {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((line) => typeof line === "string")) return value.join("\n");
  return null;
};

const programTest = ({ input, output }: RawTest): Test | null => {
  const stdin = joinLines(input);
  const stdout = joinLines(output);
  return stdin === null || stdout === null ? null : { input: stdin, outputs: [stdout] };
};

/** The task of a row, or the reason why it has none. */
export const taskOf = (fields: Fields): Result.Result<Task, string> => {
  const tests = rawTests(parseColumn(fields.tests));
  if (tests === null) return Result.fail("tests are neither a list of inputs with outputs nor lists of both");
  const [first] = tests;
  if (first === undefined) return Result.fail("no tests");
  const metadata = parseColumn(fields.metadata);
  const functionName = nameIn(fields.entry) ?? first.entry ?? (isRecord(metadata) ? nameIn(metadata.func_name) : null);
  const functional = first.functional ?? functionName !== null;
  if (tests.some((test) => (test.functional ?? functional) !== functional)) {
    return Result.fail("tests of a function and of a program");
  }
  if (functional && functionName === null) return Result.fail("tests of a function that has no name");
  if (functional && functionName !== null && !identifier.test(functionName)) {
    return Result.fail(`${JSON.stringify(functionName)} is no name of a function`);
  }
  const isOurs = nameIn(fields.entry) !== null;
  const readTests = tests.map((test) => (functional ? functionTest(test, isOurs) : programTest(test)));
  const unreadable = readTests.indexOf(null);
  if (unreadable >= 0) return Result.fail(`test ${unreadable + 1} cannot be read`);
  return Result.succeed({
    name: textOf(fields.name),
    problem: fields.problem.trim(),
    entry: functional ? functionName : null,
    parameters: fields.parameters ?? null,
    starter: textOf(fields.starter).trimEnd(),
    tests: readTests.filter((test) => test !== null),
    examples: Math.min(Math.max(fields.examples ?? 0, 0), readTests.length),
  });
};

const form: RowForm<Fields, Task> = { schema: Fields, row: taskOf, key: ({ problem }) => problem.trim() };

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

/** The tests that grade answers to a task under a configuration, and their limits. */
export const testSuiteOf = (config: DeepCoderConfig, { entry, starter, tests }: Task): TestSuite => ({
  entry,
  preamble: starter !== "",
  tests: config.max_tests === 0 ? tests : tests.slice(0, config.max_tests),
  limits: {
    testMs: config.test_timeout * 1000,
    totalMs: config.total_timeout * 1000,
    memoryBytes: config.memory_mb * 1024 * 1024,
    outputBytes: config.output_kb * 1024,
  },
  timeoutFailsAll: config.timeout_fails_all,
});
