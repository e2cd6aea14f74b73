/** Flags of the command line as values: texts, whole numbers of a range, lists. What a flag cannot take is an error that names the nearest. */
import { Effect, Option } from "effect";
import * as CliError from "effect/cli/CliError";
import * as Flag from "effect/cli/Flag";

export const text = (name: string, placeholder: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(placeholder), Flag.withDescription(description));

export const orNull = <A>(flag: Flag.Flag<A>) => flag.pipe(Flag.optional, Flag.map(Option.getOrNull));

export interface Range {
  readonly min: number;
  readonly max: number;
  /** Taken where the flag is not given, and named as nearest where its value is no number. */
  readonly fallback: number;
}

/** A whole number of a range, from the text of a flag. */
const whole = (flag: Flag.Flag<string>, name: string, { fallback, max, min }: Range) =>
  Flag.mapEffect(flag, (written) => {
    const value = /^-?\d{1,15}$/.test(written) ? Number(written) : Number.NaN;
    if (value >= min && value <= max) return Effect.succeed(value);
    const nearest = Number.isNaN(value) ? fallback : value < min ? min : max;
    const expected = `an integer from ${min} to ${max}; nearest: ${nearest}`;
    return new CliError.InvalidValue({ option: name, value: written, expected, kind: "flag" });
  });

export const required = (name: string, range: Range, description: string) =>
  whole(text(name, "N", description), name, range);

export const limit = (name: string, range: Range, description: string) =>
  whole(text(name, "N", description).pipe(Flag.withDefault(String(range.fallback))), name, range);

export const optional = (name: string, range: Range, description: string) =>
  orNull(whole(text(name, "N", description), name, range));

/** A flag that may be given more than once. */
export const severalTexts = (name: string, placeholder: string, description: string) =>
  Flag.atLeast(text(name, placeholder, description), 0);

/** Every value of a flag that `form` matches. */
export const formed = (flag: Flag.Flag<readonly string[]>, name: string, form: RegExp, expected: string) =>
  Flag.mapEffect(flag, (values) => {
    const wrong = values.find((value) => !form.test(value));
    if (wrong === undefined) return Effect.succeed(values);
    return new CliError.InvalidValue({ option: name, value: wrong, expected, kind: "flag" });
  });
