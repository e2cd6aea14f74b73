/**
 * The open sessions of this process, by id. A state names its session by the id, as plain data. Invariant: an episode goes on only from its
 * last state, since a server cannot go back.
 */
import { randomUUID } from "node:crypto";
import type { McpSession } from "./McpSession.ts";

interface HeldSession {
  readonly session: McpSession;
  /** Calls of the episode so far; only the state after all of them may go on. */
  calls: number;
}

const sessions = new Map<string, HeldSession>();

/** The number of open sessions. */
export const openCount = (): number => sessions.size;

/** Holds a session until `release`, and returns its id. */
export const hold = (session: McpSession): string => {
  const id = randomUUID();
  sessions.set(id, { session, calls: 0 });
  return id;
};

/** The session of a state that has made `calls` calls; throws where the episode went on from there already, or has failed. */
export const sessionOf = (id: string, calls: number): McpSession => {
  const entry = sessions.get(id);
  if (entry === undefined) throw new Error("the session of this state is not held any more");
  if (entry.calls !== calls) {
    throw new Error(`an episode over MCP goes on only from its last state (after ${entry.calls} calls, not ${calls})`);
  }
  return entry.session;
};

/** Notes that a call was made. */
export const countCall = (id: string | null): void => {
  const entry = id === null ? undefined : sessions.get(id);
  if (entry !== undefined) entry.calls++;
};

/** Closes a session. It ignores unknown ids, and never rejects. */
export const release = async (id: string): Promise<void> => {
  const entry = sessions.get(id);
  sessions.delete(id);
  await entry?.session.close();
};
