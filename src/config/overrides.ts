/**
 * Overrides of the command line: `key.sub=value`, `+key.sub=value`, `++key.sub=value` (all the same here) and `~key.sub` (back to the
 * default). Values are YAML scalars, or YAML flow lists and maps; anything else is taken as text.
 */
import { Result } from "effect";
import { parse, YAMLParseError } from "yaml";
import { BadInput } from "../domain/Errors.ts";
import type { Path } from "./Tree.ts";

export type Override =
  | { readonly _tag: "Set"; readonly path: Path; readonly value: unknown }
  | { readonly _tag: "Remove"; readonly path: Path };

const bad = (text: string, problem: string) =>
  Result.fail(new BadInput({ message: `override ${JSON.stringify(text)}: ${problem}` }));

/** Quotes, lists and maps must be well formed. Other text that YAML does not read as a scalar is kept as text. */
const parseValue = (text: string): unknown => {
  if (/^\s*[[{"']/.test(text)) return parse(text);
  try {
    const value: unknown = parse(text);
    const scalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    return scalar || /^(null|~)$/i.test(text.trim()) ? value : text;
  } catch (error) {
    if (error instanceof YAMLParseError) return text;
    throw error;
  }
};

export const parseOverride = (text: string): Result.Result<Override, BadInput> => {
  const split = text.indexOf("=");
  const name = (split < 0 ? text : text.slice(0, split)).trim();
  const path = name.replace(/^(\+\+?|~)/, "").split(".");
  if (path.some((key) => key === "")) return bad(text, "expected key.sub=value");
  if (name.startsWith("~")) return Result.succeed({ _tag: "Remove", path });
  if (split < 0) return bad(text, `expected ${name}=value`);
  try {
    return Result.succeed({ _tag: "Set", path, value: parseValue(text.slice(split + 1)) });
  } catch (error) {
    const reason =
      error instanceof YAMLParseError ? error.message.replace(/\n.*/s, "").replace(/:$/, "") : String(error);
    return bad(text, `the value is not readable as YAML: ${reason}`);
  }
};
