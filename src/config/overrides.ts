/**
 * Command line overrides: `key.sub=value` (with `+` or `++` in front it means the same) and `~key.sub`, which restores the default.
 * Values are YAML scalars, or flow lists and maps, which hydra writes without spaces; anything else is text.
 */
import { Result } from "effect";
import { BadInput } from "../domain/Errors.ts";
import { showText, showValue } from "./show.ts";
import type { Path } from "./Tree.ts";
import { limits, readYaml, type YamlProblem } from "./yamlText.ts";

export type Override =
  | { readonly _tag: "Set"; readonly path: Path; readonly value: unknown }
  | { readonly _tag: "Remove"; readonly path: Path };

const overrideError = (text: string, problem: string) =>
  Result.fail(new BadInput({ message: `override ${showValue(text)}: ${problem}` }));

/** Adds the space after a key's colon that YAML requires and hydra omits. */
const withSpaces = (text: string): string => text.replaceAll(/([{,]\s*[\w.-]+):(?=[^\s])/g, "$1: ");

/** Reads a value. Quotes, lists and maps must be well formed; other text that is no YAML scalar stays text. */
const parseValue = (text: string): Result.Result<unknown, YamlProblem> => {
  const read = readYaml(/^\s*{/.test(text) && !/["']/.test(text) ? withSpaces(text) : text);
  if (/^\s*[[{"']/.test(text)) return read;
  const value = Result.getOrElse(read, () => text);
  const scalar = typeof value === "object" && !/^\s*(null|~)\s*$/i.test(text) ? text : value;
  return Result.succeed(scalar);
};

/** Returns the problem of a full key, or null. */
const keyProblem = (path: Path): string | null => {
  if (path.some((key) => key === "")) return "expected key.sub=value";
  if (path.length > limits.depth) return `a key of more than ${limits.depth} names`;
  return path.includes("__proto__") ? '"__proto__" cannot be a key' : null;
};

export const parseOverride = (text: string): Result.Result<Override, BadInput> => {
  const split = text.indexOf("=");
  const name = (split < 0 ? text : text.slice(0, split)).trim();
  const path = name.replace(/^(\+\+?|~)/, "").split(".");
  const problem = keyProblem(path);
  if (problem !== null) return overrideError(text, problem);
  if (/\w@\w/.test(name))
    return overrideError(text, "it chooses from a config group of hydra, and there are none; name a key");
  if (name.startsWith("~")) return Result.succeed({ _tag: "Remove", path });
  if (split < 0) return overrideError(text, `expected ${showText(name)}=value`);
  const value = parseValue(text.slice(split + 1));
  return Result.isSuccess(value)
    ? Result.succeed({ _tag: "Set", path, value: value.success })
    : overrideError(text, `the value is not readable as YAML: ${value.failure.problem}`);
};
