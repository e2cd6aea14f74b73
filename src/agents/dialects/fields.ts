/**
 * Readers of the fields of a request. A failure is a `Problem` with one sentence that begins with the field's path. Invariant: no JSON makes
 * them throw, and their cost is linear in it.
 */
import { Result } from "effect";
import { badRequest, type Problem } from "../../support/http/Problem.ts";
import { isJsonObject, type JsonObject } from "../../support/json.ts";
import { mostLevels, nestsDeeper } from "../../support/text/callArguments.ts";

export type Read<A> = Result.Result<A, Problem>;
/** Reads a value that stands at a path. */
export type Reader<A> = (value: unknown, path: string) => Read<A>;

/** Clients write null for fields that they leave out. */
export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

/** A client's word in quotes, cut to a length that a sentence bears. */
export const quoted = (word: string): string => JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);

export const refuse = (path: string, sentence: string): Result.Result<never, Problem> =>
  Result.fail(badRequest(`${path}: ${sentence}`));

export const mustBe = (path: string, form: string): Result.Result<never, Problem> => refuse(path, `must be ${form}`);

export const readObject: Reader<JsonObject> = (value, path) =>
  isJsonObject(value) ? Result.succeed(value) : mustBe(path, "an object");

export const readString: Reader<string> = (value, path) =>
  typeof value === "string" ? Result.succeed(value) : mustBe(path, "a text");

/** Reads a text that names something. */
export const readName: Reader<string> = (value, path) =>
  typeof value === "string" && value !== "" ? Result.succeed(value) : mustBe(path, "a text that is not empty");

/** Reads each item of a list. */
export const readEach = <A>(value: unknown, path: string, read: Reader<A>): Read<readonly A[]> => {
  if (!Array.isArray(value)) return mustBe(path, "a list");
  const items: A[] = [];
  for (const [at, item] of value.entries()) {
    const result = read(item, `${path}[${at}]`);
    if (Result.isFailure(result)) return Result.fail(result.failure);
    items.push(result.success);
  }
  return Result.succeed(items);
};

/** Reads a field that may be absent, with a value in its place. */
export const readOr = <A, B>(value: unknown, path: string, read: Reader<A>, otherwise: B): Read<A | B> =>
  isAbsent(value) ? Result.succeed(otherwise) : read(value, path);

const readFlag: Reader<boolean> = (value, path) =>
  typeof value === "boolean" ? Result.succeed(value) : mustBe(path, "true or false");

/** Reads a flag that is false where it is absent. */
export const readFlagOrFalse: Reader<boolean> = (value, path) => readOr(value, path, readFlag, false);

/** Reads the object of a whole request. */
export const readBody = (value: unknown): Read<JsonObject> => {
  if (!isJsonObject(value)) return Result.fail(badRequest("the body must be a JSON object"));
  if (nestsDeeper(value)) return Result.fail(badRequest(`the body nests in more than ${mostLevels} levels`));
  return Result.succeed(value);
};
