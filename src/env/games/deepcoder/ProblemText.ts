/**
 * The texts of an episode, as pure functions. The first text has the problem, the form of the answer in the configured language, and examples.
 * The text after the answer has the number of tests that pass.
 */
import { type Grade, hasPassedAll, type Test } from "../../sandbox/Grade.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";
import type { Task } from "./Task.ts";

type Language = DeepCoderConfig["language"];

/** Writes a JSON value in the language's syntax. */
const literal = (language: Language, value: unknown): string => {
  if (language === "javascript") return JSON.stringify(value);
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((item) => literal(language, item)).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}: ${literal(language, item)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
};

const callExample = (language: Language, task: Task, { input, outputs }: Test): string => {
  const args = (JSON.parse(input) as readonly unknown[]).map((value) => literal(language, value)).join(", ");
  return `${task.entry}(${args}) gives ${literal(language, JSON.parse(outputs[0]))}`;
};

const programExample = ({ input, outputs }: Test): string =>
  `Input:\n${input.trimEnd()}\nOutput:\n${outputs[0].trimEnd()}`;

const examples = (language: Language, task: Task): readonly string[] => {
  const shown = task.tests.slice(0, task.examples);
  if (shown.length === 0) return [];
  return task.entry === null
    ? shown.map((test) => `Example.\n${programExample(test)}`)
    : [`Examples:\n${shown.map((test) => callExample(language, task, test)).join("\n")}`];
};

/** The signature of the requested function, e.g. `function add(a, b)`. */
const signature = (language: Language, { entry, parameters }: Task): string =>
  `${language === "python" ? "def" : "function"} ${entry}(${parameters?.join(", ") ?? "..."})`;

const requestText = (language: Language, task: Task): string => {
  if (task.entry === null) {
    return `Write a program that reads the standard input and writes the standard output.`;
  }
  if (task.starter !== "" && language === "python") return `Complete this code:\n${task.starter}`;
  return `Write ${signature(language, task)}; its result is returned, not printed.`;
};

export const problemText = ({ language }: DeepCoderConfig, task: Task): string =>
  [task.problem, requestText(language, task), ...examples(language, task)].join("\n\n");

export const gradeText = (grade: Grade): string => {
  const { note, passed, total } = grade;
  if (hasPassedAll(grade)) return `Your code passes all ${total} tests.`;
  return `Your code passes ${passed} of ${total} tests: ${note}.`;
};

const shortWords = 36;

/** The request and the start of the problem, in plain ASCII. */
export const shortText = ({ language }: DeepCoderConfig, task: Task): string => {
  const requested = task.entry === null ? "program" : signature(language, task);
  const words = task.problem
    .normalize("NFKD")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .split(/ +/)
    .filter((word) => word !== "");
  return `${requested} : ${words.slice(0, shortWords).join(" ")}`;
};

const languageRules: Readonly<Record<Language, string>> = {
  python: "Code runs under Python 3 with the standard library alone. There are no files and there is no network.",
  javascript:
    "Code runs as a JavaScript script (ES2023), not as a module and not in a browser: there are no imports, no files and no network. " +
    'readline() gives the next line of the input, null after the last one; require("fs").readFileSync(0, "utf8") gives all of it. ' +
    "console.log writes.",
};

const number = (value: number): string => String(Number(value.toFixed(2)));

export const rules = ({ language, memory_mb, test_timeout }: DeepCoderConfig): string =>
  `${languageRules[language]}\nEach test may take ${number(test_timeout)} s and ${memory_mb} MiB.`;
