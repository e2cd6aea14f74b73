/**
 * Overrides of the command line: `key.sub=value`, `+key.sub=value`, `++key.sub=value` (all the same here) and `~key.sub` (back to the
 * default). Values are YAML scalars, or YAML flow lists and maps, which hydra writes without spaces; anything else is taken as text.
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

/** Hydra's `{key:value}` as YAML, which wants a space after the colon of a key. */
const withSpaces = (text: string): string => text.replaceAll(/([{,]\s*[\w.-]+):(?=[^\s])/g, "$1: ");

/** Quotes, lists and maps must be well formed. Other text that YAML does not read as a scalar is kept as text. */
const parseValue = (text: string): Result.Result<unknown, YamlProblem> => {
  const read = readYaml(/^\s*{/.test(text) && !/["']/.test(text) ? withSpaces(text) : text);
  if (/^\s*[[{"']/.test(text)) return read;
  const value = Result.getOrElse(read, () => text);
  const kept = typeof value === "object" && !/^\s*(null|~)\s*$/i.test(text) ? text : value;
  return Result.succeed(kept);
};

/** What is wrong with a full key. */
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
