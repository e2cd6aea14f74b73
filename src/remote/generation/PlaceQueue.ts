/**
 * Queues requests that wait for a place at a server, and hands out the places that the router grants. Invariants: a place is given back,
 * however its holder ends; once the queue has failed, every waiting and every later request fails.
 */
import { Effect } from "effect";
import type { PolicyError } from "../../domain/Errors.ts";
import type { RequestRouter } from "./RequestRouter.ts";

export class PlaceQueue {
  readonly #router: RequestRouter;
  readonly #waiting = new Map<number, (server: Effect.Effect<number, PolicyError>) => void>();
  #tickets = 0;
  #isHandingOut = false;
  #failure: PolicyError | undefined;

  constructor(router: RequestRouter) {
    this.#router = router;
  }

  /** Runs a request of `sequence` at the server that grants it a place. */
  run<A, E, R>(
    sequence: number,
    request: (server: number) => Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | PolicyError, R> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(this.#take(sequence)), (server) =>
        Effect.ensuring(
          restore(request(server)),
          Effect.sync(() => {
            this.#router.ended(server);
            this.handOut();
          }),
        ),
      ),
    );
  }

  /** Hands out all places that the router grants now. It is called after every change of the router. */
  handOut(): void {
    // A resumed fiber runs at once and may change the router again.
    if (this.#isHandingOut) return;
    this.#isHandingOut = true;
    for (let grants = this.#router.takeGrants(); grants.length > 0; grants = this.#router.takeGrants()) {
      for (const { server, ticket } of grants) {
        const resume = this.#waiting.get(ticket);
        this.#waiting.delete(ticket);
        resume?.(Effect.succeed(server));
      }
    }
    this.#isHandingOut = false;
  }

  /** Fails all waiting requests and all later ones. */
  fail(error: PolicyError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [ticket, resume] of waiting) {
      this.#router.withdraw(ticket);
      resume(Effect.fail(error));
    }
  }

  #take(sequence: number): Effect.Effect<number, PolicyError> {
    return Effect.callback((resume) => {
      if (this.#failure !== undefined) {
        resume(Effect.fail(this.#failure));
        return;
      }
      const ticket = this.#tickets++;
      this.#waiting.set(ticket, resume);
      this.#router.wait(ticket, sequence);
      this.handOut();
      return Effect.sync(() => {
        this.#waiting.delete(ticket);
        this.#router.withdraw(ticket);
      });
    });
  }
}
