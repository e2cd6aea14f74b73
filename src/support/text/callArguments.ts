/**
 * The arguments of a tool call as OpenAI's dialects write them: JSON in a text. Invariant: arguments that are written and then parsed are the
 * same ones.
 */

/** The deepest nesting of lists and objects that is taken. Code behind this walks values by recursion, which the stack bounds. */
export const mostLevels = 128;

/** True if lists and objects nest in more than `most` levels. */
export const nestsDeeper = (value: unknown, most = mostLevels): boolean =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((inner) => nestsDeeper(inner, most - 1)));

/** Parses arguments. A text that is no JSON, or that nests too deeply, stays a text; a blank one stands for no arguments. */
export const parseArguments = (text: string): unknown => {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return nestsDeeper(value) ? text : value;
  } catch {
    return text;
  }
};

/** The arguments of a call in a client's history: some clients write them as the object itself. */
export const argumentsIn = (value: unknown): unknown =>
  typeof value === "string" ? parseArguments(value) : (value ?? {});

/** Writes arguments. A text that is no JSON is written as it is, since clients parse arguments and report what they cannot parse. */
export const argumentsText = (value: unknown): string =>
  typeof value === "string" && parseArguments(value) === value ? value : JSON.stringify(value);
