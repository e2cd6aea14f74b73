/**
 * The steps before the first reset: collect what each environment lacks on this machine and reports of its data, ask its server for a
 * description, and load the data. An environment that cannot be prepared fails the run.
 */
import * as Effect from "effect/Effect";
import { EnvironmentError } from "../../domain/Errors.ts";
import type { AnyEnvironment, BaseEnvironment } from "./BoundEnvironment.ts";

type ByTag<Key extends keyof BaseEnvironment> = ReadonlyMap<string, Pick<BaseEnvironment, Key>>;
type SentencesByTag = ReadonlyMap<string, readonly string[]>;

/** The message of a rejection. */
export const messageOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : String(cause);

/** Loads the data of the environment of `tag`. It rejects with a sentence that begins with the tag. */
export const prepare = async (tag: string, environment: Pick<BaseEnvironment, "prepare">): Promise<void> => {
  try {
    await environment.prepare?.();
  } catch (cause) {
    throw new Error(`${tag}: ${messageOf(cause)}`, { cause });
  }
};

// The functions below make no promise for an environment without the member, so that pure environments stay synchronous.

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

/** Replaces the values of environments that ask their server by the server's description. */
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

const lacksTimeoutMs = 15_000;

/**
 * The sentences of each environment's `lacks`, in the order of the tags, without environments that lack nothing. A `lacks` that fails or
 * takes too long counts as a lack.
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

/** The sentences of each environment's `report`, in the order of the tags. It fails as `prepareAll` does. */
export const collectReports = (environments: ByTag<"report">): Effect.Effect<SentencesByTag, EnvironmentError> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.report !== null),
    ([tag, environment]) =>
      Effect.tryPromise({
        try: async () => [tag, await environment.report!()] as const,
        catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${messageOf(cause)}` }),
      }),
  ).pipe(Effect.map(nonEmpty));
