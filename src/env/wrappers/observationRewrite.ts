/**
 * The observation rewrite: it replaces regular expressions one after the other in the texts that prompts show. Every match is replaced; a
 * replacement may name groups of its pattern (`$1`, `$<name>`).
 */
import * as Schema from "effect/Schema";
import { field } from "../../config/field.ts";
import type { Wrapper } from "./Wrapper.ts";

const texts = ["render", "compact", "legend"] as const;

const expression = (pattern: string, ignoreCase: boolean): RegExp => new RegExp(pattern, ignoreCase ? "gimu" : "gmu");

const Replacement = Schema.Struct({
  pattern: Schema.NonEmptyString.annotate({ description: "A regular expression; ^ and $ match at lines." }),
  replacement: field(Schema.String, "", "The text that replaces each match; an empty text deletes the match."),
  ignore_case: field(Schema.Boolean, false, "If true, upper and lower case match each other."),
}).check(
  Schema.makeFilter(({ ignore_case, pattern }) => {
    try {
      expression(pattern, ignore_case);
      return undefined;
    } catch (error) {
      return { path: ["pattern"], issue: error instanceof Error ? error.message : String(error) };
    }
  }),
);

export const ObservationRewriteConfig = Schema.Struct({
  replacements: field(
    Schema.Array(Replacement),
    [],
    "Replacements in the order in which they are made: {pattern: …, replacement: …, ignore_case: false}.",
  ),
  on: field(
    Schema.NonEmptyArray(Schema.Literals(texts)),
    ["render", "compact"],
    "Texts that are rewritten: the observation (render), its short form (compact), the legend.",
  ),
});

export const observationRewrite = ({ on, replacements }: typeof ObservationRewriteConfig.Type): Wrapper<null> => {
  const compiled = replacements.map(
    ({ ignore_case, pattern, replacement }) => [expression(pattern, ignore_case), replacement] as const,
  );
  const rewrite = (text: string): string =>
    compiled.reduce((rewritten, [pattern, replacement]) => rewritten.replace(pattern, replacement), text);
  return { initialMemory: null, ...Object.fromEntries(on.map((part) => [part, rewrite])) };
};
