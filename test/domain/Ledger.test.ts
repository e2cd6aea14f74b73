import { Result } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as Ledger from "../../src/domain/Ledger.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { admitted, finished } from "../build/events.ts";
import { assertProperty } from "../property.ts";

const booked = (events: readonly Event[]): Ledger.Ledger => events.reduce(Ledger.observe, Ledger.empty);
const allAdmitted = (...groups: number[]): Event[] => groups.map((group) => admitted(group));

describe("the ledger", () => {
  it("books every end in groups and tokens", () => {
    const ledger = booked([
      ...allAdmitted(0, 1, 2, 3, 4, 5),
      finished(0, { tokens: 10 }),
      finished(1, { tokens: 20 }),
      finished(2, { tokens: 7, failed: true }),
      finished(3, { tokens: 40 }),
      { _tag: "Verdict", window: 0, kept: [0], filtered: [1], judged: [] },
      { _tag: "Updated", window: 0, groups: [0], version: 1, tokens: 0 },
      { _tag: "Dropped", groups: [{ group: 4, tokens: 3 }], reason: "stopped" },
    ]);
    expect(toRecord(Ledger.metrics(ledger))).toEqual({
      "ledger/admitted": 6,
      "ledger/trained": 1,
      "ledger/filtered": 1,
      "ledger/failed": 1,
      "ledger/dropped": 1,
      "ledger/in_flight": 2,
      "ledger/tokens/admitted": 80,
      "ledger/tokens/trained": 10,
      "ledger/tokens/filtered": 20,
      "ledger/tokens/failed": 7,
      "ledger/tokens/dropped": 3,
      "ledger/tokens/in_flight": 40,
    });
    expect(Result.isSuccess(Ledger.checkBalance(ledger))).toBe(true);
  });

  it.each<[string, Event[]]>([
    [
      "told of one group's end twice",
      [...allAdmitted(0), finished(0, { tokens: 5, failed: true }), finished(0, { tokens: 5, failed: true })],
    ],
    [
      "told of the end of a stranger",
      [...allAdmitted(0), { _tag: "Updated", window: 0, groups: [9], version: 1, tokens: 0 }],
    ],
    ["told of one group's admission twice", allAdmitted(3, 3)],
  ])("shows a violation when %s", (_, events) => {
    const result = Ledger.checkBalance(booked(events));
    expect(Result.isFailure(result) && result.failure._tag).toBe("LedgerViolation");
  });

  it("shows a violation of tokens when a stranger finishes", () => {
    const result = Ledger.checkBalance(booked([finished(7, { tokens: 11 })]));
    expect(Result.isFailure(result) && result.failure).toMatchObject({ unit: "tokens", admitted: 11, accounted: 0 });
  });

  it("drops a finished group with the tokens it has, entered once", () => {
    const ledger = booked([
      ...allAdmitted(0),
      finished(0, { tokens: 12 }),
      { _tag: "Dropped", groups: [{ group: 0, tokens: 12 }], reason: "stopped" },
    ]);
    expect(ledger.tokens).toMatchObject({ admitted: 12, dropped: 12 });
    expect(Result.isSuccess(Ledger.checkBalance(ledger))).toBe(true);
  });

  it("balances after every event of any lawful life", () => {
    const life = fc.record({
      tokens: fc.nat(100),
      end: fc.constantFrom("failed", "filtered", "trained", "skipped", "cut"),
    });
    assertProperty(
      fc.property(fc.array(life, { maxLength: 30 }), (lives) => {
        const events = lives.flatMap(({ tokens, end }, group): Event[] => {
          const done = finished(group, { tokens, failed: end === "failed" });
          switch (end) {
            case "failed":
              return [...allAdmitted(group), done];
            case "filtered":
              return [
                ...allAdmitted(group),
                done,
                { _tag: "Verdict", window: 0, kept: [], filtered: [group], judged: [] },
              ];
            case "trained":
              return [
                ...allAdmitted(group),
                done,
                { _tag: "Updated", window: 0, groups: [group], version: 1, tokens: 0 },
              ];
            case "skipped":
              return [...allAdmitted(group), done, { _tag: "UpdateSkipped", window: 0, groups: [group], reason: "" }];
            default:
              return [...allAdmitted(group), { _tag: "Dropped", groups: [{ group, tokens }], reason: "stopped" }];
          }
        });
        let ledger = Ledger.empty;
        for (const event of events) {
          ledger = Ledger.observe(ledger, event);
          expect(Result.isSuccess(Ledger.checkBalance(ledger))).toBe(true);
        }
        expect(Ledger.inFlight(ledger)).toEqual({ groups: 0, tokens: 0 });
      }),
    );
  });
});
