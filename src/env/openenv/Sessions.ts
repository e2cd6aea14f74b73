/**
 * The open sessions of this process with servers, by id. A state names its session by the id, as plain data; the channel stays here. Invariants: a
 * failed session is closed and removed before its caller sees the rejection; a step starts only from the session's last state, and is never
 * sent twice.
 */
import { randomUUID } from "node:crypto";
import type { Random } from "../../domain/Random.ts";
import type { Channel } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import * as HttpChannel from "./HttpChannel.ts";
import type { JsonObject, Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";
import { withRetries } from "./retry.ts";
import * as WebSocketChannel from "./WebSocketChannel.ts";

interface Session {
  readonly channel: Channel;
  /** The number of steps taken, which is also the number of the only state that may go on. */
  steps: number;
  busy: boolean;
}

const sessions = new Map<string, Session>();

/** The number of open sessions. */
export const openCount = (): number => sessions.size;

export interface OpenedSession {
  readonly id: string;
  /** The answer to the reset. */
  readonly first: Payload;
}

/** Opens a session and resets it, with retries. `jitter` draws the waits between them. */
const connect = async (
  to: Connection,
  reset: JsonObject,
  jitter: Random,
  signal: AbortSignal,
): Promise<OpenedSession & { readonly channel: Channel }> => {
  // The id is not drawn from the run's streams, because it must never match an id of another process or an earlier session.
  const id = randomUUID();
  return await withRetries(to, jitter, signal, async () => {
    const channel = to.transport === "ws" ? await WebSocketChannel.open(to, signal) : HttpChannel.open(to, id);
    try {
      return { id, channel, first: await channel.request({ _tag: "Reset", data: reset }, signal) };
    } catch (error) {
      await channel.close();
      throw error;
    }
  });
};

/** Opens a session for the first observation of an instance, and closes it again. */
export const peek = async (
  to: Connection,
  reset: JsonObject,
  jitter: Random,
  signal: AbortSignal,
): Promise<Payload> => {
  const { channel, first } = await connect(to, reset, jitter, signal);
  await channel.close();
  return first;
};

/** Opens a session that stays open until `release`. */
export const open = async (
  to: Connection,
  reset: JsonObject,
  jitter: Random,
  signal: AbortSignal,
): Promise<OpenedSession> => {
  const { channel, first, id } = await connect(to, reset, jitter, signal);
  sessions.set(id, { channel, steps: 0, busy: false });
  return { id, first };
};

/** Closes a session and removes it. It ignores unknown ids, and never rejects. */
export const release = async (id: string): Promise<void> => {
  const session = sessions.get(id);
  if (session === undefined) return;
  sessions.delete(id);
  await session.channel.close();
};

/** Sends an action for the state after `steps` steps. */
export const step = async (id: string, steps: number, action: JsonObject, signal: AbortSignal): Promise<Payload> => {
  const session = sessions.get(id);
  if (session === undefined) {
    throw new RemoteError({
      reason: "session",
      message: "the session of this state is not held by this process any more",
    });
  }
  if (session.busy || session.steps !== steps) {
    throw new RemoteError({
      reason: "session",
      message: `the session has gone on: a remote episode can be stepped only from its last state (step ${session.steps}, not ${steps})`,
    });
  }
  session.busy = true;
  try {
    const payload = await session.channel.request({ _tag: "Step", action }, signal);
    session.steps++;
    return payload;
  } catch (error) {
    if (!(error instanceof RemoteError) || error.reason !== "invalid") await release(id);
    throw error;
  } finally {
    session.busy = false;
  }
};
