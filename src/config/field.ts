/**
 * A configuration key: a schema, its default and one sentence. Every key of a run file is made by `field` or `section`, so that a missing
 * key has a value and every key can be listed with its meaning. The kinds of numbers are here too: each has a range, so that no accepted
 * value can ask for more than a machine could have.
 */
import { Effect, Schema } from "effect";
import { LARGEST_REWARD } from "../domain/Episode.ts";

export const field = <S extends Schema.Top>(schema: S, defaultValue: S["Encoded"], description: string) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(defaultValue)), Schema.annotate({ description }));

/** A section whose keys all have defaults: absent means all defaults. */
export const section = <S extends Schema.Top>(schema: S, description: string) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed({} as S["Encoded"])), Schema.annotate({ description }));

/** An integer of a range, both ends included. */
export const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }));
/** A number of a range, both ends included. */
export const between = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }));
/** A number above 0, for what must not be 0. */
export const aboveZero = (maximum: number) =>
  Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(maximum));

export const count = whole(0, 1_000_000_000);
export const positive = whole(1, 1_000_000_000);
export const fraction = between(0, 1);
export const nonNegative = between(0, 1_000_000_000);

/** Steps, windows, episodes and actions: what happens one by one and takes no memory of its own. */
export const steps = whole(1, 10_000_000);
export const stepsOrNone = whole(0, 10_000_000);
export const episodes = whole(1, 1_000_000);
export const episodesOrNone = whole(0, 1_000_000);
export const tokens = whole(1, 1_048_576);
export const tokensOrNone = whole(0, 1_048_576);
export const threads = whole(1, 128);
/** What is under way at once. */
export const concurrency = whole(1, 65_536);
/** A timer's milliseconds, 11 days at most: Node's timers end at 2 ** 31. */
export const milliseconds = whole(1, 1_000_000_000);
export const millisecondsOrNone = whole(0, 1_000_000_000);
/** A TCP port; 0 is any free one. */
export const port = whole(0, 65_535);
/** Most tags, sources or stop sequences of a run. */
export const maxListLength = 256;
/** Of sampling; 0 is greedy. */
export const temperature = between(0, 100);
export const learningRate = aboveZero(1);
/** AdamW's: as float32 it must not become 0, and a decay not 1. */
export const epsilon = between(1e-30, 1);
export const decay = between(0, 0.999_999);
/** Weight of a term of a loss, cap of a ratio, norm: multiplied in float32. */
export const coefficient = between(0, 1_000_000);
export const signedCoefficient = between(-1_000_000, 1_000_000);
export const reward = between(-LARGEST_REWARD, LARGEST_REWARD);

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const isPath = (text: string): boolean => !/\p{Cc}/u.test(text) && bytesOf(text) <= 4_000;
const pathForm = "a path of at most 4000 bytes without control characters";

/** A path of the user's; any that the file system could have. */
export const path = Schema.NonEmptyString.check(Schema.makeFilter(isPath, { expected: pathForm }));
/** A path, or nothing. */
export const optionalPath = Schema.String.check(Schema.makeFilter(isPath, { expected: `${pathForm}, or nothing` }));

/** Bytes of a folder's name; a run's may get a suffix, and file systems end at 255. */
const maxNameBytes = 200;

const nameProblem = (text: string, of: "file" | "folder"): string | undefined => {
  if (/^[^.-]/u.test(text) && !/[/\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text) && bytesOf(text) <= maxNameBytes)
    return undefined;
  const nearest = text
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[.-]+/, "")
    .slice(0, 40);
  return `expected the name of one ${of}: no slashes, no dot or dash in front, at most ${maxNameBytes} bytes; nearest: ${nearest || "run"}`;
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
