/**
 * The steps before the first reset: ask each environment what it lacks on this machine and what the user should know of its data, ask its
 * server how it describes itself, and load what it reads. An environment that cannot be prepared fails the run.
 */
import { Effect } from "effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import type { AnyEnvironment, BaseEnvironment } from "./BoundEnvironment.ts";

type ByTag<Key extends keyof BaseEnvironment> = ReadonlyMap<string, Pick<BaseEnvironment, Key>>;
type SentencesByTag = ReadonlyMap<string, readonly string[]>;

/** The message of a rejection. */
export const messageOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : String(cause);

/** Loads what the environment of `tag` reads. Rejects with a sentence that begins with the tag. */
export const prepare = async (tag: string, environment: Pick<BaseEnvironment, "prepare">): Promise<void> => {
  try {
    await environment.prepare?.();
  } catch (cause) {
    throw new Error(`${tag}: ${messageOf(cause)}`, { cause });
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
        catch: (cause) => new EnvironmentError({ tag, message: messageOf(cause) }),
      }),
    { discard: true },
  );

/** The environments, with the descriptions of their servers where they have one. */
export const describeAll = (
  environments: ReadonlyMap<string, AnyEnvironment>,
): Effect.Effect<ReadonlyMap<string, AnyEnvironment>, EnvironmentError> =>
  Effect.map(
    Effect.forEach([...environments], ([tag, environment]) =>
      !environment.asynchronous || environment.describe === null
        ? Effect.succeed([tag, environment] as const)
        : Effect.tryPromise({
            try: async () => [tag, await environment.describe!()] as const,
            catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${messageOf(cause)}` }),
          }),
    ),
    (described) => new Map<string, AnyEnvironment>(described),
  );

const nonEmpty = (lists: readonly (readonly [string, readonly string[]])[]): SentencesByTag =>
  new Map(lists.filter(([, sentences]) => sentences.length > 0));

/** Time limit of `lacks`. */
const lacksTimeoutMs = 15_000;

/**
 * What each environment lacks, in the order of the tags; those that lack nothing are left out. A question that fails or takes too long
 * counts as a lack.
 */
export const collectLacks = (environments: ByTag<"lacks">): Effect.Effect<SentencesByTag> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.lacks !== null),
    ([tag, environment]) =>
      Effect.tryPromise({ try: () => environment.lacks!(), catch: messageOf }).pipe(
        Effect.timeoutOrElse({
          duration: lacksTimeoutMs,
          orElse: () => Effect.fail(`it is not known after ${lacksTimeoutMs / 1000} s what is missing`),
        }),
        Effect.catch((sentence) => Effect.succeed([sentence])),
        Effect.map((sentences) => [tag, sentences] as const),
      ),
    { concurrency: "unbounded" },
  ).pipe(Effect.map(nonEmpty));

/** What the user should know of each environment's data, in the order of the tags. Fails as `prepareAll` does. */
export const collectReports = (environments: ByTag<"report">): Effect.Effect<SentencesByTag, EnvironmentError> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.report !== null),
    ([tag, environment]) =>
      Effect.tryPromise({
        try: async () => [tag, await environment.report!()] as const,
        catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${messageOf(cause)}` }),
      }),
  ).pipe(Effect.map(nonEmpty));
