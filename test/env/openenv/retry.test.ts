/** Some failures are tried again, so many times. */
import { describe, expect, it } from "vitest";
import { RemoteError } from "../../../src/env/openenv/RemoteError.ts";
import { withRetries } from "../../../src/env/openenv/retry.ts";
import { noiseOf } from "../contract/players.ts";
import { patient, rejection } from "./serving.ts";

const failing = (reason: RemoteError["reason"], times: number) => {
  let attempts = 0;
  const attempt = async (): Promise<number> => {
    if (attempts++ < times) throw new RemoteError({ reason, message: reason });
    return attempts;
  };
  return { attempt, attempts: () => attempts };
};
const soon = { retries: 3, retry_wait_ms: 1 };

describe("retrying", () => {
  it("gives the first success", async () => {
    const { attempt } = failing("unreachable", 2);
    expect(await withRetries(soon, noiseOf(1, 0, 0), patient(), attempt)).toBe(3);
  });

  it("gives up after its retries, with the last failure", async () => {
    const { attempt, attempts } = failing("capacity", 9);
    expect(await rejection(withRetries(soon, null, patient(), attempt))).toMatchObject({ reason: "capacity" });
    expect(attempts()).toBe(4);
  });

  it.for(["nonsense", "refused", "limit", "nondeterministic", "aborted", "invalid"] as const)(
    "does not repeat what is %s",
    async (reason) => {
      const { attempt, attempts } = failing(reason, 9);
      await rejection(withRetries(soon, null, patient(), attempt));
      expect(attempts()).toBe(1);
    },
  );

  it("stops waiting when nobody waits for it", async () => {
    const controller = new AbortController();
    const { attempt, attempts } = failing("unreachable", 9);
    const retried = withRetries({ retries: 3, retry_wait_ms: 3_600_000 }, null, controller.signal, attempt);
    setTimeout(() => controller.abort(), 10);
    await rejection(retried);
    expect(attempts()).toBe(1);
  });
});
