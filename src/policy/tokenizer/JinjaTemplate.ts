/**
 * A Hugging Face chat template, rendered as transformers renders it. Invariant: the same messages give the same text at every call and
 * on every machine: what a template may ask of the clock is pinned.
 */
import { Environment, Interpreter, Template } from "@huggingface/jinja";
import { Result } from "effect";
import { isJsonObject, type JsonObject } from "../checkpoint/TokenizerFiles.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface JinjaTemplate {
  /**
   * The text of `messages` up to the reply that comes next; `thinking` is what the template's switch for thoughts says, where it has one.
   * A failure is what the template raised.
   */
  readonly render: (messages: readonly Message[], thinking: boolean) => Result.Result<string, string>;
}

/** 26 July 2024, 00:00, the day that Llama 3's templates fall back to, by the directives of strftime. */
const pinned: Readonly<Record<string, string>> = {
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
  String(format).replace(/%[A-Za-z%]/g, (directive) => pinned[directive] ?? directive);

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

/** A special token in tokenizer_config.json is a string or an object with its content. */
export const contentOf = (token: unknown): string | undefined => {
  if (typeof token === "string") return token;
  return isJsonObject(token) && typeof token.content === "string" ? token.content : undefined;
};

const tokenNames = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/** The special tokens that a template can name. */
const namedTokens = (config: JsonObject): ReadonlyMap<string, string> =>
  new Map(
    tokenNames.flatMap((name) => {
      const content = contentOf(config[name]);
      return content === undefined ? [] : [[name, content]];
    }),
  );

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Marks of trl and transformers around what is trained on; they write nothing. */
const withoutGenerationMarks = (source: string): string =>
  source
    .replace(/\{%([-+]?)\s*generation\s*([-+]?)%\}/g, "{%$1 if true $2%}")
    .replace(/\{%([-+]?)\s*endgeneration\s*([-+]?)%\}/g, "{%$1 endif $2%}");

/** The template of `source`, with the special tokens that `config`, a tokenizer_config.json, names. Fails with why it cannot be read. */
export const make = (source: string, config: JsonObject): Result.Result<JinjaTemplate, string> => {
  const tokens = namedTokens(config);
  return Result.map(
    Result.try({ try: () => new Template(withoutGenerationMarks(source)).parsed, catch: messageOf }),
    (program): JinjaTemplate => ({
      render: (messages, thinking) =>
        Result.try({
          try: () => {
            const environment = new Environment();
            for (const [name, value] of Object.entries(globals)) environment.set(name, value);
            for (const [name, token] of tokens) environment.set(name, token);
            // The names by which templates switch thoughts on and off.
            const thoughts = { enable_thinking: thinking, thinking };
            const given = { messages, tools: null, documents: null, add_generation_prompt: true, ...thoughts };
            for (const [name, value] of Object.entries(given)) environment.set(name, value);
            const { value } = new Interpreter(environment).run(program);
            return typeof value === "string" ? value : "";
          },
          catch: messageOf,
        }),
    }),
  );
};
