/**
 * An episode played by a server, as plain data: the reset of its instance, and from the first step on the id of the session that plays it.
 * The instance alone holds no session, so the members of a group share it. A session must begin with the observation its group was shown,
 * else the first step is rejected. After a rejection no session is held.
 */
import type { Random } from "../../domain/Random.ts";
import { excerpt } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import type { JsonObject, Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";
import * as Sessions from "./Sessions.ts";

export interface RemoteEpisode {
  /** The data of this instance's reset. */
  readonly instance: JsonObject;
  /** The session that plays the episode; null before its first step. */
  readonly session: string | null;
  /** Steps the session has taken. */
  readonly steps: number;
}

/** The seed a server is given: the instance's own where its stream is nothing else. */
export const seedOf = (instance: Random): number =>
  instance.key.counters.length === 0 ? instance.key.seed : instance.uint32();

/** An episode before its first step, and what `read` makes of the first observation. */
export const reset = async <A>(
  to: Connection,
  instance: JsonObject,
  jitter: Random,
  signal: AbortSignal,
  read: (payload: Payload) => A,
): Promise<{ readonly episode: RemoteEpisode; readonly first: A }> => {
  const first = read(await Sessions.peek(to, instance, jitter, signal));
  return { episode: { instance, session: null, steps: 0 }, first };
};

/** How the payloads of an episode are read. */
export interface Reader<A> {
  /** What the group was shown at first; compared before the first step. */
  readonly shown: unknown;
  readonly first: (payload: Payload) => unknown;
  readonly next: (payload: Payload) => A;
}

const begin = async <A>(
  to: Connection,
  { instance }: RemoteEpisode,
  { first: read, shown }: Reader<A>,
  jitter: Random,
  signal: AbortSignal,
): Promise<string> => {
  const { first, id } = await Sessions.open(to, instance, jitter, signal);
  try {
    const [before, now] = [JSON.stringify(shown), JSON.stringify(read(first))];
    if (before === now) return id;
    throw new RemoteError({
      reason: "nondeterministic",
      message: `${to.url} is not deterministic in its seed: seed ${instance.seed} gave ${excerpt(before)} at first and ${excerpt(now)} now`,
    });
  } catch (error) {
    await Sessions.release(id);
    throw error;
  }
};

/** The episode after an action and its answer; null where the server rejects the action and its session goes on. */
export const step = async <A>(
  to: Connection,
  episode: RemoteEpisode,
  action: JsonObject,
  jitter: Random,
  signal: AbortSignal,
  reader: Reader<A>,
): Promise<{ readonly episode: RemoteEpisode; readonly answer: A | null }> => {
  const session = episode.session ?? (await begin(to, episode, reader, jitter, signal));
  try {
    const answer = reader.next(await Sessions.step(session, episode.steps, action, signal));
    return { episode: { ...episode, session, steps: episode.steps + 1 }, answer };
  } catch (error) {
    if (error instanceof RemoteError && error.reason === "invalid") {
      return { episode: { ...episode, session }, answer: null };
    }
    await Sessions.release(session);
    throw error;
  }
};

/** Closes the session. Never rejects. */
export const release = async ({ session }: RemoteEpisode): Promise<void> => {
  if (session !== null) await Sessions.release(session);
};
