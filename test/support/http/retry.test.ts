/** The repetition of a failed attempt, and the waits that an endpoint asks for. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber, Result } from "effect";
import { TestClock } from "effect/testing";
import {
  type RetryOptions,
  type RetryPolicy,
  retry,
  retryAfterMs,
  totalWaitMs,
  waitMs,
} from "../../../src/support/http/retry.ts";

const policy: RetryPolicy = { firstMs: 200, longestMs: 1_000 };

describe("the wait before the next attempt", () => {
  it("doubles up to the longest", () => {
    expect([0, 1, 2, 3, 4].map((nth) => waitMs(policy, { retryIndex: nth }))).toEqual([200, 400, 800, 1_000, 1_000]);
    expect(totalWaitMs(policy, 4)).toBe(2_400);
  });

  it("is drawn in part where there is jitter", () => {
    const waits = [0, 0.5, 1].map((drawn) => waitMs({ ...policy, jitter: 0.5 }, { retryIndex: 1, jitterDraw: drawn }));
    expect(waits).toEqual([200, 300, 400]);
  });

  it("is never shorter than what the server asks for, and differs where there is jitter", () => {
    expect(waitMs(policy, { retryIndex: 0, serverWaitMs: 5_000 })).toBe(5_000);
    expect(waitMs(policy, { retryIndex: 3, serverWaitMs: 500 })).toBe(1_000);
    expect(
      [0, 1].map((drawn) =>
        waitMs({ ...policy, jitter: 0.5 }, { retryIndex: 0, serverWaitMs: 5_000, jitterDraw: drawn }),
      ),
    ).toEqual([5_000, 5_100]);
  });

  it("is none after so many repetitions, or after the deadline, which the last attempt meets", () => {
    const limited = { ...policy, maxRetries: 2, deadlineMs: 1_000 };
    expect(waitMs(limited, { retryIndex: 2 })).toBeNull();
    expect(waitMs(limited, { retryIndex: 1, elapsedMs: 900 })).toBe(100);
    expect(waitMs(limited, { retryIndex: 1, elapsedMs: 1_000 })).toBeNull();
  });
});

describe("retry", () => {
  /** The outcome of a call that fails `failures` times, and the times of its attempts. */
  const tried = Effect.fnUntraced(function* (
    failures: number,
    changes: Partial<RetryPolicy>,
    options?: RetryOptions<string>,
  ) {
    const times: number[] = [];
    const attempt = Effect.clockWith((clock) =>
      Effect.suspend(() => {
        times.push(clock.currentTimeMillisUnsafe());
        return times.length <= failures ? Effect.fail(`failure ${times.length}`) : Effect.succeed("done");
      }),
    );
    const fiber = yield* Effect.forkChild(Effect.result(retry(attempt, { ...policy, ...changes }, options)));
    yield* TestClock.adjust(60_000);
    return { outcome: Result.merge(yield* Fiber.join(fiber)), times };
  });

  it.effect("gives the first success", () =>
    Effect.gen(function* () {
      expect(yield* tried(3, {})).toEqual({ outcome: "done", times: [0, 200, 600, 1_400] });
    }),
  );

  it.effect("gives the last failure after its repetitions, and at the deadline", () =>
    Effect.gen(function* () {
      expect(yield* tried(9, { maxRetries: 1 })).toEqual({ outcome: "failure 2", times: [0, 200] });
      const { outcome, times } = yield* tried(9, { deadlineMs: 1_000 });
      expect([outcome, times.map((time) => time - (times[0] ?? 0))]).toEqual(["failure 4", [0, 200, 600, 1_000]]);
    }),
  );

  it.effect("gives a failure at once that no repetition changes, and waits as the server asks", () =>
    Effect.gen(function* () {
      const options = { isRetryable: (error: string) => error !== "failure 2", serverWaitMs: () => 7_000 };
      expect(yield* tried(9, {}, options)).toEqual({ outcome: "failure 2", times: [0, 7_000] });
    }),
  );
});

const now = Date.parse("2026-11-22T12:00:00Z");

describe("what an endpoint asks to wait", () => {
  it("is read in seconds", () => {
    expect(retryAfterMs({ "retry-after": "7" }, now)).toBe(7_000);
    expect(retryAfterMs({ "retry-after": " 0.25 " }, now)).toBe(250);
  });

  it("is read as a date", () => {
    expect(retryAfterMs({ "retry-after": "Sun, 22 Nov 2026 12:00:30 GMT" }, now)).toBe(30_000);
  });

  it("is a date by the endpoint's own clock, where the answer says what that is", () => {
    const headers = { "retry-after": "Sun, 22 Nov 2026 12:00:30 GMT", date: "Sun, 22 Nov 2026 12:00:10 GMT" };
    for (const ours of [now, now - 3_600_000, now + 3_600_000]) expect(retryAfterMs(headers, ours)).toBe(20_000);
    expect(retryAfterMs({ ...headers, date: "yesterday" }, now)).toBe(30_000);
  });

  it("is nothing where the date has passed", () => {
    expect(retryAfterMs({ "retry-after": "Sun, 22 Nov 2026 11:00:00 GMT" }, now)).toBe(0);
  });

  it("is read in milliseconds where they are named, which are finer", () => {
    expect(retryAfterMs({ "retry-after": "2", "retry-after-ms": "1500" }, now)).toBe(1_500);
  });

  it("is not known where nothing of the kind is said", () => {
    for (const after of ["", "soon", "-1", "1e3"]) {
      expect(retryAfterMs({ "retry-after": after }, now)).toBe(null);
    }
    expect(retryAfterMs({}, now)).toBe(null);
  });
});
