/** The keys of `env_config` with the rule for right answers, which all environments with questions share. */
import { Schema } from "effect";
import { field, fraction } from "../../../config/field.ts";
import type { AnswerMatching } from "./answerMatching.ts";

export const matchingKeys = (match: AnswerMatching["match"]) => ({
  match: field(
    Schema.Literals(["text", "number"]),
    match,
    "Rule for a right free answer. text: equal as text but for white space and case (RAGEN's rule); number: also equal as a number or a list of numbers.",
  ),
  tolerance: field(
    fraction,
    1e-6,
    "match number: relative error allowed if the right number is not whole; a whole number must be met exactly.",
  ),
});
