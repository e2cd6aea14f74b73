/**
 * The key `instances`: how a seed becomes an instance. `millrace` draws it from the instance's counter-based stream; `ragen` draws what
 * RAGEN's Python draws under the same seed, for comparisons. Either way it is a pure function of the configuration and the seed.
 */
import { Schema } from "effect";
import { field } from "../../config/field.ts";

export const instances = field(
  Schema.Literals(["millrace", "ragen"]),
  "millrace",
  "Whose instance a seed stands for: our own, or the one RAGEN's Python draws under the same seed.",
);
