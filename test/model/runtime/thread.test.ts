import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { abandonedThreads, liveThreads, make, type ThreadFailure } from "../../../src/model/runtime/Thread.ts";
import { startAhead, ThreadsAhead } from "../../../src/model/runtime/ThreadsAhead.ts";
import type { EchoProtocol } from "./echo.ts";

const open = (onEvent: (event: string) => void = () => {}) =>
  make<EchoProtocol, ThreadFailure>({
    url: new URL("./echoWorker.ts", import.meta.url),
    name: "echo",
    fail: (failure) => failure,
    onEvent,
  });

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? "") : "");

const echo = { url: new URL("./echoWorker.ts", import.meta.url), name: "echo" };

describe("threads that were started ahead", () => {
  it.effect("are takes by their entry, each once", () =>
    Effect.gen(function* () {
      const take = yield* startAhead([echo]);
      let takes = 0;
      const counted: typeof take = (entry) => {
        const worker = take(entry);
        if (worker !== undefined) takes++;
        return worker;
      };
      const threads = Effect.all([open(), open()]);
      const both = yield* Effect.provideService(threads, ThreadsAhead, counted);
      expect(yield* Effect.forEach(both, (thread) => thread.call("echo", "here"))).toEqual(["here", "here"]);
      expect(takes).toBe(1);
    }),
  );

  it.effect("end with the scope where nobody takes them", () =>
    Effect.gen(function* () {
      const take = yield* Effect.scoped(startAhead([echo]));
      const worker = take(echo);
      expect(worker?.threadId ?? -1).toBe(-1);
    }),
  );

  it.effect("that cannot load are left out, and fail for who starts them again", () =>
    Effect.gen(function* () {
      const broken = { url: new URL("./nowhere.ts", import.meta.url), name: "nowhere" };
      const take = yield* startAhead([broken]);
      const thread = make<EchoProtocol, ThreadFailure>({ ...broken, fail: (failure) => failure });
      const started = yield* Effect.provideService(thread, ThreadsAhead, take);
      expect(yield* Effect.flip(started.died)).toMatchObject({ reason: "thread_died" });
    }),
  );
});

describe("Thread", () => {
  it.effect("answers each call with its own response, events first where they were sent first", () =>
    Effect.gen(function* () {
      const events: string[] = [];
      const thread = yield* open((event) => events.push(event));
      const texts = ["a", "b", "c"];
      expect(yield* Effect.forEach(texts, (text) => thread.call("echo", text), { concurrency: 3 })).toEqual(texts);
      expect(events).toEqual(["echoed a", "echoed b", "echoed c"]);
    }),
  );

  it.effect("moves buffers both ways without leaving them behind", () =>
    Effect.gen(function* () {
      const thread = yield* open();
      const numbers = Float32Array.of(1, 2, 3);
      expect(yield* thread.call("move", numbers, [numbers.buffer])).toEqual(Float32Array.of(2, 4, 6));
      expect(numbers.byteLength).toBe(0);
    }),
  );

  it.effect("fails one call with the code it was refused with, and no other", () =>
    Effect.gen(function* () {
      const thread = yield* open();
      const refused = yield* Effect.flip(thread.call("refuse", "too_long"));
      expect(refused).toMatchObject({ reason: "call_failed", code: "too_long", message: "refused with too_long" });
      expect(yield* thread.call("echo", "still here")).toBe("still here");
    }),
  );

  it.effect("carries the error of a failed call with its code, stack and causes", () =>
    Effect.gen(function* () {
      const thread = yield* open();
      const { cause } = yield* Effect.flip(thread.call("throwInside", null));
      expect(cause).toMatchObject({ name: "CallError", code: "wrapped", message: "a step failed" });
      expect(cause.cause).toMatchObject({ name: "RangeError", message: "too far" });
      expect(stackOf(cause.cause)).toContain("innermost");
      expect(stackOf(cause.cause)).toContain("echoWorker.ts");
      expect(cause.cause).toHaveProperty("cause.name", "TypeError");
    }),
  );

  it.effect("carries the error that ended the thread", () =>
    Effect.gen(function* () {
      const thread = yield* open();
      const { cause, reason } = yield* Effect.flip(thread.call("throwLater", null));
      expect(reason).toBe("thread_died");
      expect(cause).toMatchObject({ name: "RangeError", message: "uncaught" });
      expect(stackOf(cause)).toContain("innermost");
      expect(cause).toHaveProperty("cause.message", "the root of it");
    }),
  );

  it.effect("tells the thread when a caller is interrupted", () =>
    Effect.gen(function* () {
      const thread = yield* open();
      const call = yield* Effect.forkChild(thread.call("never", "mine"), { startImmediately: true });
      yield* Fiber.interrupt(call);
      expect(yield* thread.call("cancelled", null)).toEqual(["mine"]);
    }),
  );

  for (const [how, kill, message] of [
    ["throws outside a call", { name: "throwLater", request: null }, "echo died: uncaught"],
    ["exits", { name: "exit", request: 3 }, "echo ended (exit code 3)"],
  ] as const)
    it.effect(`fails waiting and later calls when the thread ${how}`, () =>
      Effect.gen(function* () {
        const thread = yield* open();
        const waiting = yield* Effect.forkChild(Effect.flip(thread.call("never", "waits")), { startImmediately: true });
        const died = yield* Effect.forkChild(Effect.flip(thread.died), { startImmediately: true });
        const death = { reason: "thread_died", message };
        const killed =
          kill.name === "exit" ? thread.call(kill.name, kill.request) : thread.call(kill.name, kill.request);
        expect(yield* Effect.flip(killed)).toMatchObject(death);
        expect(yield* Fiber.join(waiting)).toMatchObject(death);
        expect(yield* Fiber.join(died)).toMatchObject(death);
        expect(yield* Effect.flip(thread.call("echo", "anyone?"))).toMatchObject(death);
        expect(thread.death()).toMatchObject(death);
      }),
    );

  it.effect("is gone when its scope is closed", () =>
    Effect.gen(function* () {
      const before = liveThreads();
      const thread = yield* Effect.scoped(open());
      expect(liveThreads()).toBe(before);
      expect(thread.death()).toMatchObject({ reason: "thread_died", message: "echo ended (exit code 0)" });
    }),
  );

  it.effect("is left to end by itself when it does not end within its deadline", () =>
    Effect.gen(function* () {
      const cell = new Int32Array(new SharedArrayBuffer(4));
      const blocked = Deferred.makeUnsafe<void>();
      const scope = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const thread = yield* open(() => Deferred.doneUnsafe(blocked, Effect.void));
            yield* Effect.forkChild(thread.call("block", cell), { startImmediately: true });
            yield* Deferred.await(blocked);
            return thread;
          }),
        ),
      );
      yield* Deferred.await(blocked);
      yield* TestClock.adjust("5 seconds");
      const thread = yield* Fiber.join(scope);
      expect([abandonedThreads(), thread.death()]).toEqual([1, undefined]);
      Atomics.store(cell, 0, 1);
      Atomics.notify(cell, 0);
      expect(yield* Effect.flip(thread.died)).toMatchObject({ message: "echo ended (exit code 0)" });
      expect(abandonedThreads()).toBe(0);
    }),
  );
});
