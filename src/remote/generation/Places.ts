/**
 * Who waits for a server, on their own fibers: what the fleet grants is handed out here. Invariants: a place that was given is given back, however
 * its holder ends; once ended, everyone who waits fails, and so does everyone who comes.
 */
import { Effect } from "effect";
import type { PolicyError } from "../../domain/Errors.ts";
import type { Fleet } from "./Fleet.ts";

export class Places {
  readonly #fleet: Fleet;
  readonly #waiting = new Map<number, (server: Effect.Effect<number, PolicyError>) => void>();
  #tickets = 0;
  #settling = false;
  #ended: PolicyError | undefined;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Runs a request of `sequence` at the server whose turn it is. */
  at<A, E, R>(
    sequence: number,
    request: (server: number) => Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | PolicyError, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(this.#take(sequence)), (server) =>
        Effect.ensuring(
          restore(request(server)),
          Effect.sync(() => {
            this.#fleet.ended(server);
            this.settle();
          }),
        ),
      ),
    );
  }

  /** Hands out what the fleet grants now; called after every change of it. */
  settle(): void {
    // A resumed fiber runs inline and may change the fleet again.
    if (this.#settling) return;
    this.#settling = true;
    for (let grants = this.#fleet.grants(); grants.length > 0; grants = this.#fleet.grants()) {
      for (const { server, ticket } of grants) {
        const resume = this.#waiting.get(ticket);
        this.#waiting.delete(ticket);
        resume?.(Effect.succeed(server));
      }
    }
    this.#settling = false;
  }

  /** Nobody is given a place any more. */
  end(error: PolicyError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [ticket, resume] of all) {
      this.#fleet.withdraw(ticket);
      resume(Effect.fail(error));
    }
  }

  #take(sequence: number): Effect.Effect<number, PolicyError> {
    return Effect.callback((resume) => {
      if (this.#ended !== undefined) {
        resume(Effect.fail(this.#ended));
        return;
      }
      const ticket = this.#tickets++;
      this.#waiting.set(ticket, resume);
      this.#fleet.wait(ticket, sequence);
      this.settle();
      return Effect.sync(() => {
        this.#waiting.delete(ticket);
        this.#fleet.withdraw(ticket);
      });
    });
  }
}
