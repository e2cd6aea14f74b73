/** Short declarations of an environment's keys, with their bounds, default and description. Effect's Schema does the same and more. */
import { Schema } from "effect";
import { field } from "../../config/field.ts";

export interface FieldOptions<Value> {
  readonly default: Value;
  /** One sentence for people who set the key. */
  readonly about: string;
}

/** A whole number from `minimum` to `maximum`. */
export const integer = (minimum: number, maximum: number, options: FieldOptions<number>) =>
  field(Schema.Int.check(Schema.isBetween({ minimum, maximum })), options.default, options.about);

/** A number from `minimum` to `maximum`. */
export const number = (minimum: number, maximum: number, options: FieldOptions<number>) =>
  field(Schema.Finite.check(Schema.isBetween({ minimum, maximum })), options.default, options.about);

/** True or false. */
export const flag = (options: FieldOptions<boolean>) => field(Schema.Boolean, options.default, options.about);

/** A text. */
export const text = (options: FieldOptions<string>) => field(Schema.String, options.default, options.about);

/** One of some names. */
export const choice = <const Names extends readonly [string, ...string[]]>(
  names: Names,
  options: FieldOptions<NoInfer<Names[number]>>,
) => field(Schema.Literals(names), options.default, options.about);
