/** When a page that outlives its run is looked at no more. */
import { describe, it } from "@effect/vitest";
import { Effect, SubscriptionRef } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import { whileBrowsersListen } from "../../../../src/observe/watch/process/whileBrowsersListen.ts";

const looked = Effect.fnUntraced(function* (count: number) {
  const browsers = yield* SubscriptionRef.make(count);
  const fiber = yield* Effect.forkChild(whileBrowsersListen(browsers));
  /** True if a browser still counts as listening, so long after the number of browsers changed. */
  const looksAfter = Effect.fnUntraced(function* (ms: number, now?: number) {
    if (now !== undefined) yield* SubscriptionRef.set(browsers, now);
    yield* TestClock.adjust(ms);
    return fiber.pollUnsafe() === undefined;
  });
  return looksAfter;
});

describe("a page whose run was killed", () => {
  it.effect("is looked at while a browser listens, and two seconds longer", () =>
    Effect.gen(function* () {
      const looksAfter = yield* looked(2);
      expect(yield* looksAfter(60_000)).toBe(true);
      expect(yield* looksAfter(60_000, 1)).toBe(true);
      expect(yield* looksAfter(1_900, 0)).toBe(true);
      expect(yield* looksAfter(100)).toBe(false);
    }),
  );

  it.effect("is looked at by a browser that is loaded again", () =>
    Effect.gen(function* () {
      const looksAfter = yield* looked(1);
      expect(yield* looksAfter(1_900, 0)).toBe(true);
      expect(yield* looksAfter(60_000, 1)).toBe(true);
    }),
  );

  it.effect("waits two seconds for the first browser", () =>
    Effect.gen(function* () {
      const looksAfter = yield* looked(0);
      expect(yield* looksAfter(1_900)).toBe(true);
      expect(yield* looksAfter(100)).toBe(false);
    }),
  );
});
