/** What the HTTP routes and the sockets of one server share: the environment, its table of sessions and its limits. */
import type { ByteBudget } from "../../support/http/ByteBudget.ts";
import type { Host } from "./Dialogue.ts";
import type { SessionTable } from "./SessionTable.ts";

export interface Served {
  readonly host: Host;
  readonly sessions: SessionTable;
  /** Seed of the next reset that names none. */
  readonly nextSeed: () => number;
  readonly maxMessageBytes: number;
  /** What all clients together may have this process hold for them. */
  readonly budget: ByteBudget;
}

export const fullMessage = ({ active, max }: SessionTable): string =>
  `the server is full: ${active()} of ${max} sessions are taken`;
