/**
 * Plays what an evaluation has not finished, writes each episode as it finishes, and stops admitting at a stop. Invariants: a finished
 * episode is on the disk before another begins in its place; a finished episode is never played again.
 */
import { Deferred, Effect } from "effect";
import type { BadInput } from "../../domain/Errors.ts";
import type { EpisodeLog } from "./EpisodeLog.ts";
import { type EpisodeKey, type EvaluatedEpisode, keyOf } from "./EvaluatedEpisode.ts";
import { isNotPlayed, type NotPlayed } from "./NotPlayed.ts";

/** The progress of a session, as its callbacks see it. */
export interface Standing {
  readonly planned: number;
  /** Finished in all sessions; it grows at its end. */
  readonly finished: readonly EvaluatedEpisode[];
  /** Finished in this session. */
  readonly fresh: readonly EvaluatedEpisode[];
  readonly failed: readonly NotPlayed[];
  readonly underway: number;
}

/** Episodes that are played as one: a group for a checkpoint, a single one for an endpoint. */
export interface Work<E, R> {
  readonly keys: readonly EpisodeKey[];
  readonly play: Effect.Effect<readonly (EvaluatedEpisode | NotPlayed)[], E, R>;
}

export interface Session<E, R> {
  readonly log: EpisodeLog;
  readonly works: readonly Work<E, R>[];
  readonly concurrency: number;
  /** True when another work may begin. */
  readonly admits: (standing: Standing) => boolean;
  readonly progress: (standing: Standing) => Effect.Effect<void>;
}

export interface Played<E> {
  readonly standing: Standing;
  /** The reason for an early end; null where everything was tried. A work that `admits` refused is no reason. */
  readonly failure: E | null;
}

/** A failure of a work, apart from those of the log. */
class Broken<E> {
  readonly _tag = "Broken";
  readonly error: E;
  constructor(error: E) {
    this.error = error;
  }
}

/** Plays each work that holds an unfinished episode. A failure ends the session and is part of its result; the finished episodes stay. */
export const run = <E, R>(session: Session<E, R>): Effect.Effect<Played<E>, BadInput, R> =>
  Effect.gen(function* () {
    const { admits, concurrency, log, progress, works } = session;
    const planned = new Set(works.flatMap(({ keys }) => keys.map(keyOf)));
    const finished = log.finished.filter((episode) => planned.has(keyOf(episode)));
    const done = new Set(finished.map(keyOf));
    const fresh: EvaluatedEpisode[] = [];
    const failed: NotPlayed[] = [];
    let underway = 0;
    const standing = (): Standing => ({ planned: planned.size, finished, fresh, failed, underway });
    let ended = Deferred.makeUnsafe<void>();
    /** Gives true once a work may begin. While it may not, each end of another decides anew; with none under way it gives false. */
    const admitted = Effect.gen(function* () {
      while (!admits(standing())) {
        if (underway === 0) return false;
        yield* Deferred.await(ended);
      }
      underway++;
      return true;
    });
    const end = Effect.sync(() => {
      underway--;
      Deferred.doneUnsafe(ended, Effect.void);
      ended = Deferred.makeUnsafe<void>();
    });
    const playWork = Effect.fnUntraced(function* ({ keys, play }: Work<E, R>) {
      if (keys.every((key) => done.has(keyOf(key))) || !(yield* admitted)) return;
      const results = yield* Effect.mapError(play, (error) => new Broken(error));
      const episodes = results.filter((each): each is EvaluatedEpisode => !isNotPlayed(each) && !done.has(keyOf(each)));
      const record = Effect.tap(log.append(episodes), () =>
        Effect.sync(() => {
          finished.push(...episodes);
          fresh.push(...episodes);
          for (const episode of episodes) done.add(keyOf(episode));
        }),
      );
      // Written episodes are counted, even if another work ends the session meanwhile.
      yield* Effect.uninterruptible(record);
      failed.push(...results.filter(isNotPlayed));
      yield* end;
      yield* progress(standing());
    });
    const failure = yield* Effect.forEach(works, playWork, { concurrency, discard: true }).pipe(
      Effect.as(null),
      Effect.catchTag("Broken", ({ error }) => Effect.succeed(error)),
    );
    return { standing: standing(), failure };
  });
