/**
 * The process in which a model folder's chat template runs, because a stranger wrote it: it can be ended when a template loops or takes all
 * memory. It reads a template and then chats as lines of JSON, and answers each with a text or with what the template raised. It imports
 * nothing but the library, so that it starts in some 50 ms. Invariant: the same messages give the same text on every machine and day.
 */
import { Environment, Interpreter, Template } from "@huggingface/jinja";

/** The first line: the template, its special tokens by the names that it may use, and the longest text that is answered. */
export interface TemplateSource {
  readonly source: string;
  /** The template for chats with tools, where the folder has one for them. */
  readonly toolSource?: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly maxCharacters: number;
}

/** A call of a tool, as templates expect it. */
export interface CallRequest {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** A message as templates expect it. Some ask whether the key `tool_calls` is there, so a message without calls leaves it out. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly tool_calls?: readonly CallRequest[];
  /** The call that a result answers. */
  readonly tool_call_id?: string;
}

/** An offered tool, as templates expect it. */
export interface ToolRequest {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown };
}

/** Every later line: a chat to write, and what the template's switch for thoughts says. */
export interface ChatRequest {
  readonly messages: readonly Message[];
  readonly thinking: boolean;
  /** Absent where a chat has none: templates tell an empty list from none. */
  readonly tools?: readonly ToolRequest[];
}

/** The answer to a line; `tooLong` where the text is longer than `longest`. */
export type TemplateAnswer = { readonly text: string } | { readonly error: string } | { readonly tooLong: true };

/** 26 July 2024, 00:00, the day that Llama 3's templates fall back to, by the directives of strftime. */
const pinnedDate: Readonly<Record<string, string>> = {
  "%Y": "2024",
  "%y": "24",
  "%m": "07",
  "%B": "July",
  "%b": "Jul",
  "%d": "26",
  "%e": "26",
  "%j": "208",
  "%A": "Friday",
  "%a": "Fri",
  "%H": "00",
  "%I": "12",
  "%M": "00",
  "%S": "00",
  "%p": "AM",
  "%F": "2024-07-26",
  "%%": "%",
};

const dateText = (format: unknown): string =>
  String(format).replace(/%[A-Za-z%]/g, (directive) => pinnedDate[directive] ?? directive);

const range = (first: number, end?: number, step = 1): readonly number[] => {
  const [from, to] = end === undefined ? [0, first] : [first, end];
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, index) => from + index * step);
};

const globals = {
  ...{ true: true, false: false, none: null, True: true, False: false, None: null },
  raise_exception: (message: unknown) => {
    throw new Error(String(message));
  },
  range,
  strftime_now: dateText,
};

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).slice(0, 2_000);

/** Marks of trl and transformers around what is trained on; they write nothing. */
const withoutGenerationMarks = (source: string): string =>
  source
    .replace(/\{%([-+]?)\s*generation\s*([-+]?)%\}/g, "{%$1 if true $2%}")
    .replace(/\{%([-+]?)\s*endgeneration\s*([-+]?)%\}/g, "{%$1 endif $2%}");

type Render = (chat: ChatRequest) => string;

const rendererOf = ({ source, tokens, toolSource }: TemplateSource): Render => {
  const programOf = (text: string) => new Template(withoutGenerationMarks(text)).parsed;
  const program = programOf(source);
  // It is read when it is needed, since a chat without tools does not depend on it.
  let toolProgram = toolSource === undefined ? program : undefined;
  const programForTools = () => (toolProgram ??= programOf(toolSource ?? source));
  return ({ messages, thinking, tools = null }) => {
    const environment = new Environment();
    for (const [name, value] of Object.entries(globals)) environment.set(name, value);
    for (const [name, token] of Object.entries(tokens)) environment.set(name, token);
    // The names by which templates switch thoughts on and off.
    const thoughts = { enable_thinking: thinking, thinking };
    const variables = { messages, tools, documents: null, add_generation_prompt: true, ...thoughts };
    for (const [name, value] of Object.entries(variables)) environment.set(name, value);
    const { value } = new Interpreter(environment).run(tools === null ? program : programForTools());
    return typeof value === "string" ? value : "";
  };
};

const answerer = (): ((line: string) => TemplateAnswer) => {
  let renderer: { readonly render: Render; readonly longest: number } | undefined;
  return (line) => {
    try {
      if (renderer === undefined) {
        const source: TemplateSource = JSON.parse(line);
        renderer = { render: rendererOf(source), longest: source.maxCharacters };
        return { text: "" };
      }
      const text = renderer.render(JSON.parse(line));
      return text.length > renderer.longest ? { tooLong: true } : { text };
    } catch (cause) {
      return { error: messageOf(cause) };
    }
  };
};

const writeAnswer = (answer: TemplateAnswer): unknown => process.stdout.write(`${JSON.stringify(answer)}\n`);

// It has started: from here on time counts.
writeAnswer({ text: "" });
const answer = answerer();
let parts: string[] = [];
process.stdin.setEncoding("utf8");
// Node's own reading of lines would also cut at U+2028, which JSON leaves as it is.
process.stdin.on("data", (received: string) => {
  const [first = "", ...rest] = received.split("\n");
  parts.push(first);
  for (const next of rest) {
    writeAnswer(answer(parts.join("")));
    parts = [next];
  }
});
