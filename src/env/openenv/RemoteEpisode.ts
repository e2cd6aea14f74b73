/**
 * An episode that a server plays, as plain data: the reset of its instance, and from the first step on the id of its session. The instance alone
 * holds no session, so the members of a group share it. Invariants: a session begins with the observation that its group was shown, else the
 * first step is rejected; after a rejection no session is open.
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
  /** The number of steps that the session has taken. */
  readonly steps: number;
}

/** The seed for a server: the instance's seed if its stream has no counters, else one drawn from the stream. */
export const seedOf = (instance: Random): number =>
  instance.key.counters.length === 0 ? instance.key.seed : instance.uint32();

/** Makes an episode before its first step, and reads the first observation by `read`. */
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

/** The functions that read the payloads of an episode. */
export interface Reader<A> {
  /** The first observation that the group was shown; the session's own is compared with it before the first step. */
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

/** The episode after an action, and the answer; null if the server rejects the action and its session goes on. */
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

/** Closes the session. It never rejects. */
export const release = async ({ session }: RemoteEpisode): Promise<void> => {
  if (session !== null) await Sessions.release(session);
};
