/**
 * What comes before the first reset: a bound environment is asked what it lacks on this machine and what there is to know of its data,
 * its other side how it describes itself, and it loads what it reads. Enters: environments by tag; leaves: sentences for the user, or an
 * environment that can be played. One that cannot be prepared costs the run.
 */
import { Effect } from "effect";
import { EnvironmentError } from "../domain/Errors.ts";
import type { AnyEnvironment, Shown } from "./BoundEnvironment.ts";

type ByTag<Key extends keyof Shown> = ReadonlyMap<string, Pick<Shown, Key>>;
type Sentences = ReadonlyMap<string, readonly string[]>;

/** The sentence a rejection says. */
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

// Each of these makes no promise where there is nothing to ask, so that what asks nothing stays synchronous.

/** Prepares each environment on this thread, one after the other: those of one kind often read the same files. */
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

/** The environments, those of other sides as these describe them. */
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

/** How long an environment may look for what it lacks. */
const lookMs = 15_000;

/**
 * What each environment lacks, in the order of the tags; those that lack nothing are left out. That it cannot be told, or not in time, is
 * a lack as well.
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

/** What there is to know of each environment's data, in the order of the tags. Fails as preparing does. */
export const reports = (environments: ByTag<"report">): Effect.Effect<Sentences, EnvironmentError> =>
  Effect.forEach(
    [...environments].filter(([, environment]) => environment.report !== null),
    ([tag, environment]) =>
      Effect.tryPromise({
        try: async () => [tag, await environment.report!()] as const,
        catch: (cause) => new EnvironmentError({ tag, message: `${tag}: ${sentenceOf(cause)}` }),
      }),
  ).pipe(Effect.map(said));
