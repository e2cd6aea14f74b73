/** Short declarations of an environment's keys, with their bounds, default and description. Effect's Schema does the same and more. */
import { Schema } from "effect";
import { type Field, field } from "../../config/field.ts";

/** The default and the description of a key. */
export interface FieldOptions<Value> {
  readonly default: Value;
  /** One sentence for people who set the key. */
  readonly about: string;
}

/** A key that is a whole number from `minimum` to `maximum`. */
export const integer = (minimum: number, maximum: number, options: FieldOptions<number>): Field<Schema.Int> =>
  field(Schema.Int.check(Schema.isBetween({ minimum, maximum })), options.default, options.about);

/** A key that is a number from `minimum` to `maximum`. */
export const number = (minimum: number, maximum: number, options: FieldOptions<number>): Field<Schema.Finite> =>
  field(Schema.Finite.check(Schema.isBetween({ minimum, maximum })), options.default, options.about);

/** A key that is true or false. */
export const flag = (options: FieldOptions<boolean>): Field<Schema.Boolean> =>
  field(Schema.Boolean, options.default, options.about);

/** A key that is any text. */
export const text = (options: FieldOptions<string>): Field<Schema.String> =>
  field(Schema.String, options.default, options.about);

/** A key that is one of some names. */
export const choice = <const Names extends readonly [string, ...string[]]>(
  names: Names,
  options: FieldOptions<NoInfer<Names[number]>>,
): Field<Schema.Literals<Names>> => field(Schema.Literals(names), options.default, options.about);
