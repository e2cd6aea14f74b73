import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../../src/support/http/retryAfter.ts";

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
