/**
 * Observation rewrite: replaces regular expressions one after the other in the texts that are shown. Every match is replaced; a replacement may
 * name groups of its pattern (`$1`, `$<name>`).
 */
import { Schema } from "effect";
import { field } from "../../config/field.ts";
import type { Wrapper } from "./Wrapper.ts";

const texts = ["render", "compact", "legend"] as const;

const expression = (pattern: string, ignoreCase: boolean): RegExp => new RegExp(pattern, ignoreCase ? "gimu" : "gmu");

const Replacement = Schema.Struct({
  pattern: Schema.NonEmptyString.annotate({ description: "A regular expression; ^ and $ match at lines." }),
  replacement: field(Schema.String, "", "What stands in place of each match; empty deletes it."),
  ignore_case: field(Schema.Boolean, false, "Upper and lower case match each other."),
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
    "What is replaced, in this order: {pattern: …, replacement: …, ignore_case: false}.",
  ),
  on: field(
    Schema.NonEmptyArray(Schema.Literals(texts)),
    ["render", "compact"],
    "Where: the observation, its short form, the legend.",
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
