/**
 * A server's state as those who listen see it, out of the troubles of all operations under way: it is retried while any has trouble, and up when
 * none has. Invariant: nothing is told twice, and after `lost` nothing else.
 */
import type { Instant } from "../../domain/Instant.ts";
import type { ServerRole, ServerState, TellServer } from "../../domain/Server.ts";

/** Trouble of one operation. */
export interface Attempt {
  readonly since: Instant;
  readonly attempt: number;
  /** When the next attempt begins, Unix milliseconds. */
  readonly nextAt: number;
  readonly why: string;
}

export class Health {
  readonly #role: ServerRole;
  readonly #name: string;
  readonly #tell: TellServer;
  readonly #troubles = new Map<number, Attempt>();
  #told = "";
  #lost = false;

  constructor(role: ServerRole, name: string, tell: TellServer) {
    this.#role = role;
    this.#name = name;
    this.#tell = tell;
  }

  /** The operation has trouble, or (null) none any more. */
  is(operation: number, trouble: Attempt | null): void {
    if (trouble === null) this.#troubles.delete(operation);
    else this.#troubles.set(operation, trouble);
    this.#say();
  }

  /** The operation has ended without a result. */
  ended(operation: number): void {
    this.#troubles.delete(operation);
  }

  lost(since: number, why: string): void {
    this.#say({ _tag: "Lost", since, why });
    this.#lost = true;
  }

  #say(state: ServerState = this.#state): void {
    const said = JSON.stringify(state);
    if (this.#lost || said === this.#told) return;
    this.#told = said;
    this.#tell({ role: this.#role, name: this.#name, state });
  }

  /** The longest trouble is the server's. */
  get #state(): ServerState {
    const [oldest] = [...this.#troubles.values()].toSorted((a, b) => a.since.monotonic - b.since.monotonic);
    return oldest === undefined ? { _tag: "Up" } : { _tag: "Retrying", ...oldest, since: oldest.since.unix };
  }
}
