/** The keys of `env_config` that say when an answer is right; shared by the environments that ask questions. */
import { Schema } from "effect";
import { field, fraction } from "../../../config/field.ts";
import type { Judging } from "./judge.ts";

export const judgingKeys = (match: Judging["match"]) => ({
  match: field(
    Schema.Literals(["text", "number"]),
    match,
    "When a free answer is right: equal as text but for white space and case (RAGEN's rule), or also as a number or a list of numbers.",
  ),
  tolerance: field(
    fraction,
    1e-6,
    "match number: relative error allowed where the right number is not whole; a whole one must be met.",
  ),
});
