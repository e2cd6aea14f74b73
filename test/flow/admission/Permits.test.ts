import { describe, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { expect } from "vitest";
import * as Permits from "../../../src/flow/admission/Permits.ts";

describe("permits around effects", () => {
  it.effect("go to those who wait in their order, urgent ones first, and never to more than there are", () =>
    Effect.gen(function* () {
      const inTurn = Permits.limitTo(1);
      const order: string[] = [];
      const first = yield* Deferred.make<void>();
      const note = (name: string) => Effect.sync(() => void order.push(name));
      const hold = inTurn(Effect.andThen(note("holder"), Deferred.await(first)), false);
      const fibers = [yield* Effect.forkChild(hold, { startImmediately: true })];
      for (const waiting of [
        inTurn(note("a"), false),
        inTurn(note("b"), true),
        inTurn(note("c"), false),
        inTurn(note("d"), true),
      ]) {
        fibers.push(yield* Effect.forkChild(waiting, { startImmediately: true }));
      }
      expect(order).toEqual(["holder"]);
      yield* Deferred.succeed(first, undefined);
      yield* Effect.forEach(fibers, Fiber.join);
      expect(order).toEqual(["holder", "b", "d", "a", "c"]);
    }),
  );

  it.effect("tell a caller when it stands in the line: whoever comes at that moment is after it", () =>
    Effect.gen(function* () {
      const inTurn = Permits.limitTo(1);
      const order: string[] = [];
      const note = (name: string) => Effect.sync(() => void order.push(name));
      const released = yield* Deferred.make<void>();
      const holder = yield* Effect.forkChild(inTurn(Deferred.await(released), false), { startImmediately: true });
      let after: Fiber.Fiber<void> | undefined;
      const onJoined = () => {
        after = Effect.runFork(inTurn(note("after"), false));
      };
      const before = yield* Effect.forkChild(inTurn(note("before"), false, onJoined), { startImmediately: true });
      yield* Deferred.succeed(released, undefined);
      yield* Effect.forEach([holder, before, after!], Fiber.join);
      expect(order).toEqual(["before", "after"]);
    }),
  );

  it.effect("tell a caller that gets one at once", () =>
    Effect.gen(function* () {
      let joins = 0;
      yield* Permits.limitTo(1)(
        Effect.sync(() => expect(joins).toBe(1)),
        false,
        () => {
          joins++;
        },
      );
      expect(joins).toBe(1);
    }),
  );

  it.effect("are given up by an urgent one that is interrupted while it waits", () =>
    Effect.gen(function* () {
      const slots = Permits.makeUnsafe(1);
      yield* slots.acquire;
      const waiting = yield* Effect.forkChild(slots.acquireUrgently, { startImmediately: true });
      yield* Fiber.interrupt(waiting);
      slots.release();
      expect(slots.tryAcquire()).toBe(true);
    }),
  );
});
