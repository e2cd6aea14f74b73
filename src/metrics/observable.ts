/**
 * The bridge from the bus to rxjs. In: a pull of the bus; out: an observable that completes when the pull is done. rxjs has no
 * backpressure, so only paths that may drop, and whose readers keep up, are bridged.
 */
import { Cause, Effect, Exit, Fiber } from "effect";
import { Observable } from "rxjs";
import type { Pull } from "../stage/Bus.ts";

export const fromPull = <A>(pull: Pull<A>): Observable<A> =>
  new Observable<A>((subscriber) => {
    const forward = pull.pipe(
      Effect.tap((message) => Effect.sync(() => subscriber.next(message))),
      Effect.forever({ disableYield: true }),
      Effect.catchIf(Cause.isDone, () => Effect.void),
    );
    const fiber = Effect.runFork(forward);
    fiber.addObserver((exit) => {
      if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) subscriber.complete();
      else subscriber.error(Cause.squash(exit.cause));
    });
    return () => void Effect.runFork(Fiber.interrupt(fiber));
  });
