/**
 * Limits for the regular expressions of a tokenizer.json that are not those of a known family, because a stranger wrote them. Invariant: with
 * such an expression no call holds up this thread for longer than `limits.ms`; with known ones alone, calls run as they are.
 */
import { createContext, Script } from "node:vm";
import { isJsonObject, type JsonObject } from "../checkpoint/TokenizerFiles.ts";
import type { Limits } from "./JinjaTemplate.ts";

/** `ms` is for one text, `characters` for one expression. */
export type PatternLimits = Pick<Limits, "ms" | "characters">;

/** Known expressions split a prompt in some milliseconds. */
export const defaultLimits: PatternLimits = { ms: 5_000, characters: 10_000 };

/** The expression of GPT-2, which `ByteLevel` splits by unless it is told not to. */
export const byteLevelPattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** The split pattern of Qwen2, Qwen3 (one digit) and Llama 3 (three digits). */
const withDigits = (digits: string): string =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** Each takes time in proportion to the text. */
const families: ReadonlySet<string> = new Set([byteLevelPattern, withDigits("\\p{N}"), withDigits("\\p{N}{1,3}")]);

/** Words to choose from, without repetition: what the nano tokenizer splits by. */
const isWords = (source: string): boolean => /^(?:[^\\^$.*+?()[\]{}]|\\[^a-zA-Z0-9])*$/u.test(source);

/** All expressions below `value`, wherever a normalizer, a pre-tokenizer or a decoder has them. */
const expressionsOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(expressionsOf);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "Regex" && typeof part === "string" ? [part] : expressionsOf(part),
  );
};

/** The expressions of a tokenizer.json that are of no known family. */
export const foreignPatterns = ({ decoder, normalizer, pre_tokenizer }: JsonObject): readonly string[] => {
  const expressions = expressionsOf([normalizer, pre_tokenizer, decoder]);
  return [...new Set(expressions)].filter((source) => !families.has(source) && !isWords(source));
};

/** Texts on which expressions that try many readings take longest: a run of something, and an end that does not fit. */
const hostileTexts: readonly string[] = ["a", "A", " ", "0", ".", "\n", "漢", "a ", "a.", "0,", "'s"].flatMap((unit) =>
  ["", "a", " ", "!", "0"].map((end) => unit.repeat(1_000) + end),
);

const quote = (sources: readonly string[]): string =>
  sources.map((source) => JSON.stringify(source.length > 80 ? `${source.slice(0, 80)}…` : source)).join(" or ");

/** The error is one of the script's own context, and so no instance of this one's `Error`. */
const isTimeout = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** Makes a call that may run the expressions. */
type Run = <A>(call: () => A) => A;

const unlimited: Run = (call) => call();

/** Node can end a script after a time, and a call only with the script that makes it. Throws `failure` then. */
const limitedRun = (ms: number, failure: () => Error): Run => {
  const globals: { call: () => unknown } = { call: () => undefined };
  const context = createContext(globals);
  const script = new Script("call()");
  return <A>(call: () => A): A => {
    globals.call = call;
    try {
      return script.runInContext(context, { timeout: ms });
    } catch (cause) {
      throw isTimeout(cause) ? failure() : cause;
    }
  };
};

export interface PatternGuard {
  /** Makes a call that may run the expressions; throws the failure where it takes too long. */
  readonly run: Run;
  /** Texts to encode before anything starts, so that an expression that hangs is found then. */
  readonly probes: readonly string[];
}

/** The guard of a tokenizer.json; `failure` makes an error of what is wrong. Throws one where an expression is longer than it may be. */
export const guardPatterns = (
  tokenizerJson: JsonObject,
  { characters, ms }: PatternLimits,
  failure: (detail: string) => Error,
): PatternGuard => {
  const foreign = foreignPatterns(tokenizerJson);
  if (foreign.length === 0) return { run: unlimited, probes: [] };
  const long = foreign.find((source) => source.length > characters);
  if (long !== undefined) {
    throw failure(
      `the regular expression ${quote([long])} of its tokenizer.json has more than ${characters} characters`,
    );
  }
  const detail = `the regular expression ${quote(foreign)} of its tokenizer.json takes longer than ${ms / 1_000} s for one text`;
  return { run: limitedRun(ms, () => failure(detail)), probes: hostileTexts };
};
