/**
 * The steps before the first reset: ask each environment what it lacks on this machine and what the user should know of its data, ask its
 * server how it describes itself, and load what it reads. An environment that cannot be prepared fails the run.
 */
import { Effect } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import type { AnyEnvironment, Shown } from "./BoundEnvironment.ts";

type ByTag<Key extends keyof Shown> = ReadonlyMap<string, Pick<Shown, Key>>;
type Sentences = ReadonlyMap<string, readonly string[]>;

/** The message of a rejection. */
export const sentenceOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : String(cause);

/** Loads what the environment of `tag` reads. Rejects with a sentence that begins with the tag. */
export const prepare = async (tag: string, environment: Pick<Shown, "prepare">): Promise<void> => {
  try {
    await environment.prepare?.();
  } catch (cause) {
    throw new Error(`${tag}: ${sentenceOf(cause)}`, { cause });
  }
};

// These make no promise where there is nothing to ask, so that pure environments stay synchronous.

/** Prepares each environment on this thread, one after the other, because environments of one type often read the same files. */
export const prepareAll = (environments: ByTag<"prepare">): Effect.Effect<void, EnvironmentError> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.prepare !== null),
    ([tag, environment]) =>
      Effect.tryPromise({
        try: () => prepare(tag, environment),
        catch: (cause) => new EnvironmentError({ tag, message: sentenceOf(cause) }),
      }),
    { discard: true },
  );

/** The environments, with the descriptions of their servers where they have one. */
export const introduceAll = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): Effect.Effect<ReadonlyMap<string, AnyEnvironment>, EnvironmentError> =>
  Effect.map(
    Effect.forEach([...environments], ([tag, environment]) =>
      !environment.asynchronous || environment.introduced === null
        ? Effect.succeed([tag, environment] as const)
        : Effect.tryPromise({
            try: async () => [tag, await environment.introduced!()] as const,
            catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${sentenceOf(cause)}` }),
          }),
    ),
    (described) => new Map<string, AnyEnvironment>(described),
  );

const said = (found: readonly (readonly [string, readonly string[]])[]): Sentences =>
  new Map(found.filter(([, sentences]) => sentences.length > 0));

/** Time limit of `lacks`. */
const lookMs = 15_000;

/**
 * What each environment lacks, in the order of the tags; those that lack nothing are left out. A question that fails or takes too long
 * counts as a lack.
 */
export const missing = (environments: ByTag<"lacks">): Effect.Effect<Sentences> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.lacks !== null),
    ([tag, environment]) =>
      Effect.tryPromise({ try: () => environment.lacks!(), catch: sentenceOf }).pipe(
        Effect.timeoutOrElse({
          duration: lookMs,
          orElse: () => Effect.fail(`it is not known after ${lookMs / 1000} s what is missing`),
        }),
        Effect.catch((sentence) => Effect.succeed([sentence])),
        Effect.map((sentences) => [tag, sentences] as const),
      ),
    { concurrency: "unbounded" },
  ).pipe(Effect.map(said));

/** What the user should know of each environment's data, in the order of the tags. Fails as `prepareAll` does. */
export const reports = (environments: ByTag<"report">): Effect.Effect<Sentences, EnvironmentError> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.report !== null),
    ([tag, environment]) =>
      Effect.tryPromise({
        try: async () => [tag, await environment.report!()] as const,
        catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${sentenceOf(cause)}` }),
      }),
  ).pipe(Effect.map(said));
