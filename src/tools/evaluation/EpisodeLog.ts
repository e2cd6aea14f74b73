/**
 * episodes.jsonl of an evaluation's folder: a line for each finished episode, appended and flushed as it finishes. Invariants: a line is whole
 * before the next one begins; what a kill tore off is cut before more is appended, so that nothing finished is lost or read twice.
 */
import { type FileHandle, open } from "node:fs/promises";
import { Effect, Semaphore } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import * as EpisodeLine from "./EpisodeLine.ts";
import { type EvaluatedEpisode, keyOf } from "./EvaluatedEpisode.ts";

export interface EpisodeLog {
  /** Finished before this log was opened. */
  readonly finished: readonly EvaluatedEpisode[];
  /** Resolves once the line is on the disk. */
  readonly append: (episodes: readonly EvaluatedEpisode[]) => Effect.Effect<void, BadInput>;
}

const NEWLINE = 0x0a;

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, BadInput> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) => new BadInput({ message: `${path}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  });

/** The episodes of the whole lines; of one that is there twice, the last. Lines that are no episodes are left out. */
export const parse = (text: string): readonly EvaluatedEpisode[] => {
  const episodes = new Map<string, EvaluatedEpisode>();
  for (const line of text.split("\n").slice(0, -1)) {
    const episode = EpisodeLine.read(line);
    if (episode !== null) episodes.set(keyOf(episode), episode);
  }
  return [...episodes.values()];
};

/** Cuts a last line that has no end. */
const withoutTorn = async (file: FileHandle): Promise<string> => {
  const bytes = await file.readFile();
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  if (end < bytes.length) await file.truncate(end);
  return bytes.toString("utf8", 0, end);
};

/** The log of `path`, made where there is none, as long as the scope lives. */
export const make = Effect.fnUntraced(function* (path: string, groupSize: number) {
  const file = yield* Effect.acquireRelease(
    attempt(path, () => open(path, "a+")),
    (opened) => Effect.promise(() => opened.close()),
  );
  const text = yield* attempt(path, () => withoutTorn(file));
  const lock = yield* Semaphore.make(1);
  const log: EpisodeLog = {
    finished: parse(text),
    append: (episodes) => {
      const lines = episodes.map((episode) => `${JSON.stringify(EpisodeLine.write(episode, groupSize))}\n`);
      const written = attempt(path, async () => {
        await file.appendFile(lines.join(""));
        await file.datasync();
      });
      // Not interruptible: an episode that has finished is paid for.
      return Effect.uninterruptible(lock.withPermit(written));
    },
  };
  return log;
});
