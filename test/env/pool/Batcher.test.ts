import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import * as Batcher from "../../../src/env/pool/Batcher.ts";

/** A batcher whose batches take until they are told to go on, and are recorded as they start. */
const make = (concurrency: number, cap = 100) =>
  Effect.gen(function* () {
    const batches: (readonly number[])[] = [];
    const gates: Deferred.Deferred<void>[] = [];
    const batcher = yield* Batcher.make<number, string>({
      name: "step",
      concurrency,
      cap: () => cap,
      run: (batch) =>
        Effect.suspend(() => {
          batches.push(batch);
          const gate = Deferred.makeUnsafe<void>();
          gates.push(gate);
          return Effect.as(
            Deferred.await(gate),
            batch.map((n) => Effect.succeed(`${n}!`)),
          );
        }),
    });
    const call = (...requests: readonly number[]) =>
      Effect.forkChild(Effect.forEach(requests, batcher.call, { concurrency: "unbounded" }));
    const open = (batch: number) => Deferred.succeed(gates[batch]!, undefined);
    /** Lets every fiber that can run do so. */
    const settle = TestClock.adjust(0);
    return { batcher, batches, call, open, settle };
  });

describe("the batcher", () => {
  it.effect("sends what was asked together as one batch, and answers each caller its own", () =>
    Effect.gen(function* () {
      const { batches, call, open, settle } = yield* make(1);
      const fiber = yield* call(1, 2, 3);
      yield* settle;
      expect(batches).toEqual([[1, 2, 3]]);
      yield* open(0);
      expect(yield* Fiber.join(fiber)).toEqual(["1!", "2!", "3!"]);
    }),
  );

  it.effect("takes everything that waits as soon as a batch ends, and no more batches than allowed", () =>
    Effect.gen(function* () {
      const { batches, batcher, call, open, settle } = yield* make(1);
      yield* call(1);
      yield* settle;
      yield* call(2, 3);
      yield* settle;
      yield* call(4);
      yield* settle;
      expect(batches).toEqual([[1]]);
      expect(batcher.sample()).toMatchObject({ running: 1, queue: 3, items: 0 });
      yield* open(0);
      yield* settle;
      expect(batches).toEqual([[1], [2, 3, 4]]);
    }),
  );

  it.effect("shares what waits among the free batches, up to the cap", () =>
    Effect.gen(function* () {
      const shared = yield* make(2);
      yield* shared.call(1, 2, 3);
      yield* shared.settle;
      expect(shared.batches).toEqual([[1, 2], [3]]);
      const capped = yield* make(1, 2);
      yield* capped.call(1, 2, 3);
      yield* capped.settle;
      expect(capped.batches).toEqual([[1, 2]]);
    }),
  );

  it.effect("starts more batches at once when its concurrency grows", () =>
    Effect.gen(function* () {
      const { batches, batcher, call, settle } = yield* make(1);
      yield* call(1);
      yield* settle;
      yield* call(2, 3);
      yield* settle;
      batcher.setConcurrency(3);
      yield* settle;
      expect(batches).toEqual([[1], [2], [3]]);
      batcher.setConcurrency(1);
      yield* call(4);
      yield* settle;
      expect(batches.length).toBe(3);
    }),
  );

  it.effect("forgets a caller that gives up while it waits", () =>
    Effect.gen(function* () {
      const { batches, batcher, call, open, settle } = yield* make(1);
      yield* call(1);
      yield* settle;
      const waiting = yield* call(2);
      yield* call(3);
      yield* settle;
      yield* Fiber.interrupt(waiting);
      expect(batcher.sample().queue).toBe(1);
      yield* open(0);
      yield* settle;
      expect(batches).toEqual([[1], [3]]);
    }),
  );

  it.effect("integrates busy, starved and queued time", () =>
    Effect.gen(function* () {
      const { batcher, call, open, settle } = yield* make(2, 1);
      yield* TestClock.adjust(10);
      yield* call(1, 2, 3);
      yield* settle;
      yield* TestClock.adjust(10);
      yield* open(0);
      yield* settle;
      yield* TestClock.adjust(5);
      expect(batcher.sample()).toMatchObject({
        elapsedMs: 25,
        starvedMs: 20,
        busyMs: 30,
        queueMs: 10,
        items: 1,
        concurrency: 2,
      });
    }),
  );

  it.effect("queues again what a batch puts back, counts it once, and lets later answers wait on their own", () =>
    Effect.gen(function* () {
      const late = Deferred.makeUnsafe<string>();
      let batches = 0;
      const batcher = yield* Batcher.make<number, string>({
        name: "step",
        concurrency: 1,
        cap: () => 2,
        run: (batch) =>
          Effect.sync(() =>
            batches++ === 0 ? [Deferred.await(late), new Batcher.Requeue()] : batch.map((n) => Effect.succeed(`${n}!`)),
          ),
      });
      const first = yield* Effect.forkChild(batcher.call(1));
      const second = yield* Effect.forkChild(batcher.call(2));
      expect(yield* Fiber.join(second)).toBe("2!");
      expect(batcher.sample()).toMatchObject({ running: 0, queue: 0, items: 2 });
      yield* Deferred.succeed(late, "1!");
      expect(yield* Fiber.join(first)).toBe("1!");
    }),
  );
});
