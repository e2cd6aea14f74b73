/** The context that the HTTP routes and the sockets of one server share: the environment, the table of sessions and the limits. */
import type { ByteBudget } from "../../support/http/ByteBudget.ts";
import type { ServedEnvironment } from "./SessionState.ts";
import type { SessionTable } from "./SessionTable.ts";

export interface ServerContext {
  readonly host: ServedEnvironment;
  readonly sessions: SessionTable;
  /** Returns the seed of the next reset that names none. */
  readonly nextSeed: () => number;
  readonly maxMessageBytes: number;
  /** The bytes that this process may hold for all clients together. */
  readonly budget: ByteBudget;
}

export const fullMessage = ({ active, max }: SessionTable): string =>
  `the server is full: ${active()} of ${max} sessions are taken`;
