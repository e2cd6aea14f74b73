/**
 * A configuration key: a schema, its default and one sentence. `field` and `section` make all keys of a run file, so that each
 * has a default and can be listed with its meaning. Number types have ranges, so no valid value asks for more than a machine could have.
 */
import * as Effect from "effect/Effect";
import * as Schema from "effect/Schema";
import { LARGEST_REWARD } from "../domain/Episode.ts";

/** A schema of a key that may be absent, and has its default then. */
export type Field<S extends Schema.Top> = Schema.withDecodingDefaultKey<S>;

/** A key of a schema, its default, and one sentence for people who set it. */
export const field = <S extends Schema.Top>(schema: S, defaultValue: S["Encoded"], description: string): Field<S> =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(defaultValue)), Schema.annotate({ description }));

/** A section in which every key has a default; an absent section has them all. */
export const section = <S extends Schema.Top>(schema: S, description: string): Field<S> =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed({} as S["Encoded"])), Schema.annotate({ description }));

/** An integer in an inclusive range. */
export const whole = (minimum: number, maximum: number): Schema.Int =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }));
/** A number in an inclusive range. */
export const between = (minimum: number, maximum: number): Schema.Finite =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }));
/** A number above 0 and at most `maximum`. */
export const aboveZero = (maximum: number) =>
  Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(maximum));

/** An integer from 0 to 1e9. */
export const count: Schema.Int = whole(0, 1_000_000_000);
/** An integer from 1 to 1e9. */
export const positive: Schema.Int = whole(1, 1_000_000_000);
/** A number from 0 to 1. */
export const fraction: Schema.Finite = between(0, 1);
/** A number from 0 to 1e9. */
export const nonNegative: Schema.Finite = between(0, 1_000_000_000);

/** Counts of steps, windows and actions, which happen one by one and take no memory of their own. */
export const steps = whole(1, 10_000_000);
export const stepsOrNone = whole(0, 10_000_000);
export const episodes = whole(1, 1_000_000);
export const episodesOrNone = whole(0, 1_000_000);
export const tokens = whole(1, 1_048_576);
export const tokensOrNone = whole(0, 1_048_576);
export const threads = whole(1, 128);
export const concurrency = whole(1, 65_536);
/** Milliseconds of a timer, at most 11 days, because Node's timers end at 2 ** 31. */
export const milliseconds = whole(1, 1_000_000_000);
export const millisecondsOrNone = whole(0, 1_000_000_000);
/** A TCP port; 0 is any free one. */
export const port = whole(0, 65_535);
/** Longest list of tags, sources or stop sequences. */
export const maxListLength = 256;
/** A sampling temperature; 0 is greedy. */
export const temperature = between(0, 100);
export const learningRate = aboveZero(1);
/** AdamW's epsilon must not become 0 in float32, nor a decay 1. */
export const epsilon = between(1e-30, 1);
export const decay = between(0, 0.999_999);
/** A loss weight, a cap of a ratio or a norm; float32 can multiply by it. */
export const coefficient = between(0, 1_000_000);
export const signedCoefficient = between(-1_000_000, 1_000_000);
export const reward = between(-LARGEST_REWARD, LARGEST_REWARD);

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const isPath = (text: string): boolean => !/\p{Cc}/u.test(text) && bytesOf(text) <= 4_000;
const pathForm = "a path of at most 4000 bytes without control characters";

/** A path that a file system could have. */
export const path = Schema.NonEmptyString.check(Schema.makeFilter(isPath, { expected: pathForm }));
/** A path, or nothing. */
export const optionalPath = Schema.String.check(Schema.makeFilter(isPath, { expected: `${pathForm}, or nothing` }));

/** File systems allow 255 bytes; a run's folder may get a suffix. */
const maxNameBytes = 200;

const nameProblem = (text: string, kind: "file" | "folder"): string | undefined => {
  if (/^[^.-]/u.test(text) && !/[/\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text) && bytesOf(text) <= maxNameBytes)
    return undefined;
  const nearest = text
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[.-]+/, "")
    .slice(0, 40);
  return `expected the name of one ${kind}: no slashes, no dot or dash in front, at most ${maxNameBytes} bytes; nearest: ${nearest || "run"}`;
};

/** The name of one folder. */
export const folderName = Schema.NonEmptyString.check(Schema.makeFilter((text) => nameProblem(text, "folder")));
/** The name of one file. */
export const fileName = Schema.NonEmptyString.check(Schema.makeFilter((text) => nameProblem(text, "file")));

const isUrl = (text: string): boolean => /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text);
const urlForm = "an address, as https://name:port";

/** An address of a server, without a query. */
export const url = Schema.NonEmptyString.check(Schema.makeFilter(isUrl, { expected: urlForm }));
/** An address, or nothing. */
export const optionalUrl = Schema.String.check(
  Schema.makeFilter((text) => text === "" || isUrl(text), { expected: `${urlForm}, or nothing` }),
);
