/**
 * A configuration key: a schema, its default and one sentence. Every key of a run file is made by `field` or `section`, so that a missing
 * key has a value and every key can be listed with its meaning.
 */
import { Effect, Schema } from "effect";

export const field = <S extends Schema.Top>(schema: S, defaultValue: S["Encoded"], description: string) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(defaultValue)), Schema.annotate({ description }));

/** A section whose keys all have defaults: absent means all defaults. */
export const section = <S extends Schema.Top>(schema: S, description: string) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed({} as S["Encoded"])), Schema.annotate({ description }));

export const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }));
export const positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }));
/** For learning rates and epsilons, which must not be 0. */
export const aboveZero = Schema.Finite.check(Schema.isGreaterThan(0));
export const nonNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0));
export const fraction = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }));
