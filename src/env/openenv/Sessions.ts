/**
 * The sessions this process holds with servers, by id. A state names its session by the id, as plain data; the channel stays here. A session
 * that failed is closed and removed before its rejection is seen. A step is taken only from the session's last state, and is never sent
 * twice.
 */
import { randomUUID } from "node:crypto";
import type { Random } from "../../domain/Random.ts";
import type { Channel } from "./Channel.ts";
import type { Connection } from "./Connection.ts";
import * as HttpChannel from "./HttpChannel.ts";
import type { JsonObject, Payload } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";
import { retrying } from "./retry.ts";
import * as WebSocketChannel from "./WebSocketChannel.ts";

interface Session {
  readonly channel: Channel;
  /** Steps taken; the number of the only state that may go on. */
  steps: number;
  busy: boolean;
}

const sessions = new Map<string, Session>();

/** Number of open sessions. */
export const held = (): number => sessions.size;

export interface Opened {
  readonly id: string;
  /** What the reset answered. */
  readonly first: Payload;
}

/** Opens a session and resets it, with retries. `jitter` draws the waits between them. */
const connect = async (
  to: Connection,
  reset: JsonObject,
  jitter: Random,
  signal: AbortSignal,
): Promise<Opened & { readonly channel: Channel }> => {
  // Not drawn from the run's streams: an id of another process or an earlier session must never match.
  const id = randomUUID();
  return await retrying(to, jitter, signal, async () => {
    const channel = to.transport === "ws" ? await WebSocketChannel.open(to, signal) : HttpChannel.open(to, id);
    try {
      return { id, channel, first: await channel.ask({ _tag: "Reset", data: reset }, signal) };
    } catch (error) {
      await channel.close();
      throw error;
    }
  });
};

/** The first observation of an instance; its session is closed again. */
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

/** A session that stays open until `release`. */
export const open = async (to: Connection, reset: JsonObject, jitter: Random, signal: AbortSignal): Promise<Opened> => {
  const { channel, first, id } = await connect(to, reset, jitter, signal);
  sessions.set(id, { channel, steps: 0, busy: false });
  return { id, first };
};

/** Closes a session and removes it. Unknown ids are ignored. Never rejects. */
export const release = async (id: string): Promise<void> => {
  const session = sessions.get(id);
  if (session === undefined) return;
  sessions.delete(id);
  await session.channel.close();
};

/** Sends an action for the state that is `steps` steps old. */
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
    const payload = await session.channel.ask({ _tag: "Step", action }, signal);
    session.steps++;
    return payload;
  } catch (error) {
    if (!(error instanceof RemoteError) || error.reason !== "invalid") await release(id);
    throw error;
  } finally {
    session.busy = false;
  }
};
