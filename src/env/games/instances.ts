/**
 * The key `instances`, which says how a seed becomes an instance. `millrace` draws it from the instance's counter-based stream; `ragen` draws
 * it as RAGEN's Python does under the same seed, for comparisons. Either way it is a pure function of the configuration and the seed.
 */
import * as Schema from "effect/Schema";
import { field } from "../../config/field.ts";

export const instances = field(
  Schema.Literals(["millrace", "ragen"]),
  "millrace",
  "Whose instance a seed stands for: our own, or the one RAGEN's Python draws under the same seed.",
);
