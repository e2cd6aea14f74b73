/**
 * Flow stages connected in a line, fed by a pull that suspends until there is a next item and fails with `Cause.Done` at the end of input.
 * All stages run at once. Invariants: the end of input drains every stage in order; the first failure of any
 * stage ends all of them; interruption releases everything they hold.
 */
import { Cause, Effect } from "effect";
import type * as Inbox from "./Inbox.ts";
import type * as Stage from "./Stage.ts";

/** A line of connected stages. */
export interface Pipeline<out A, out E, out R> {
  /** Connects the next stage: results are offered into its inbox and wait while it is full. */
  readonly to: <B, E2, R2>(stage: Stage.Flow<A, B, E2, R2>) => Pipeline<B, E | E2, R | R2>;
  /** Runs until the input has ended and every stage is drained. Results of the last stage are discarded. */
  readonly run: Effect.Effect<void, E, R>;
}

/** A pipeline fed by a pull, called again as soon as its last item was taken. */
export const from = <A, E, R>(pull: Effect.Effect<A, E | Cause.Done, R>): Pipeline<A, Exclude<E, Cause.Done>, R> =>
  extend((inlet) => feed(pull, inlet), []);

/** A pipeline fed by an iterable, for tests and batch jobs. */
export const fromIterable = <A>(items: Iterable<A>): Pipeline<A, never, never> =>
  extend(
    (inlet) =>
      Effect.gen(function* () {
        if (inlet === null) return;
        for (const item of items) yield* inlet.offer(item);
        yield* inlet.end;
      }),
    [],
  );

type RunInto<A, E, R> = (downstream: Inbox.Inlet<A> | null) => Effect.Effect<void, E, R>;

const extend = <A, E, R>(last: RunInto<A, E, R>, before: readonly Effect.Effect<void, E, R>[]): Pipeline<A, E, R> => ({
  to: <B, E2, R2>(stage: Stage.Flow<A, B, E2, R2>) =>
    extend<B, E | E2, R | R2>(stage.runInto, [...before, last(stage.inlet)]),
  run: Effect.suspend(() => Effect.all([...before, last(null)], { concurrency: "unbounded", discard: true })),
});

const feed = <A, E, R>(
  pull: Effect.Effect<A, E | Cause.Done, R>,
  inlet: Inbox.Inlet<A> | null,
): Effect.Effect<void, Exclude<E, Cause.Done>, R> =>
  pull.pipe(
    Effect.flatMap((item) => (inlet === null ? Effect.void : inlet.offer(item))),
    Effect.forever({ disableYield: true }),
    Effect.catchIf(Cause.isDone, () => (inlet === null ? Effect.void : inlet.end)),
  );
