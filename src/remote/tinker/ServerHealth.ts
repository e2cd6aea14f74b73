/**
 * A server's state for listeners, from the troubles of all operations in flight: `Retrying` while any has trouble, else `Up`. Invariant: no
 * state is reported twice in a row, and none after `lost`.
 */
import type { Instant } from "../../domain/Instant.ts";
import type { ReportServer, ServerRole, ServerState } from "../../domain/Server.ts";

/** The trouble of one operation. */
export interface FailedAttempt {
  readonly since: Instant;
  readonly attempt: number;
  /** Start of the next attempt, Unix milliseconds. */
  readonly nextAt: number;
  readonly why: string;
}

export class ServerHealth {
  readonly #role: ServerRole;
  readonly #name: string;
  readonly #tell: ReportServer;
  readonly #troubles = new Map<number, FailedAttempt>();
  #lastTold = "";
  #lost = false;

  constructor(role: ServerRole, name: string, tell: ReportServer) {
    this.#role = role;
    this.#name = name;
    this.#tell = tell;
  }

  /** Sets the trouble of an operation; null clears it. */
  setTrouble(operation: number, trouble: FailedAttempt | null): void {
    if (trouble === null) this.#troubles.delete(operation);
    else this.#troubles.set(operation, trouble);
    this.#tellChange();
  }

  /** Forgets an operation that has ended without a result. */
  ended(operation: number): void {
    this.#troubles.delete(operation);
  }

  lost(since: number, why: string): void {
    this.#tellChange({ _tag: "Lost", since, why });
    this.#lost = true;
  }

  #tellChange(state: ServerState = this.#state): void {
    const said = JSON.stringify(state);
    if (this.#lost || said === this.#lastTold) return;
    this.#lastTold = said;
    this.#tell({ role: this.#role, name: this.#name, state });
  }

  /** The longest trouble stands for the server. */
  get #state(): ServerState {
    const [oldest] = [...this.#troubles.values()].toSorted((a, b) => a.since.monotonic - b.since.monotonic);
    return oldest === undefined ? { _tag: "Up" } : { _tag: "Retrying", ...oldest, since: oldest.since.unix };
  }
}
