import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as Budget from "../../../src/tools/endpoints/Budget.ts";
import { assertProperty } from "../../property.ts";

const prices = { in: 1, out: 10 };
const limits = (tokens: number | null, usd: number | null): Budget.Limits => ({ tokens, usd, prices });
const usage = (prompt: number, reply: number) => ({ prompt, reply });

describe("a budget", () => {
  it("counts money by its prices", () => {
    expect(Budget.cost(prices, usage(2_000_000, 100_000))).toBe(3);
  });

  it("refuses a request that could exceed it, in tokens or in money", () => {
    expect(Budget.reserve(limits(100, null), Budget.opened, usage(60, 41))).toBe(null);
    expect(Budget.reserve(limits(null, 0.001), Budget.opened, usage(1, 100))).toBe(null);
    expect(Budget.reserve(limits(100, 1), Budget.opened, usage(60, 40))).not.toBe(null);
  });

  it("is never exceeded, whatever is under way, where requests cost at most what was reserved", () => {
    const tokens = fc.integer({ min: 0, max: 60 });
    const event = fc.record({
      most: fc.tuple(tokens, tokens),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      settles: fc.boolean(),
    });
    assertProperty(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let account = Budget.opened;
        const underway: { most: Budget.Progress["cost"]; share: number }[] = [];
        for (const { most, settles, share } of events) {
          const reserved = Budget.reserve(limits(300, null), account, usage(...most));
          if (reserved !== null) {
            account = reserved;
            underway.push({ most: usage(...most), share });
          }
          const next = settles ? underway.shift() : undefined;
          if (next !== undefined) {
            const used = usage(Math.floor(next.share * next.most.prompt), Math.floor(next.share * next.most.reply));
            account = Budget.settle(account, next.most, used);
          }
          expect(Budget.total(account.spent) + Budget.total(account.reserved)).toBeLessThanOrEqual(300);
        }
      }),
    );
  });

  it("admits an episode only where it and those under way can be as dear as the dearest so far", () => {
    const spent = { ...Budget.opened, spent: usage(400, 0) };
    const progress = { finished: 4, cost: usage(400, 0), most: usage(150, 0), underway: 1 };
    expect(Budget.admits(limits(700, null), spent, progress)).toBe(true);
    expect(Budget.admits(limits(699, null), spent, progress)).toBe(false);
  });

  it("counts what was spent on episodes that were not finished", () => {
    const spent = { ...Budget.opened, spent: usage(500, 0) };
    const progress = { finished: 1, cost: usage(100, 0), most: usage(100, 0), underway: 0 };
    expect(Budget.admits(limits(599, null), spent, progress)).toBe(false);
  });

  it("expects nothing before an episode has finished", () => {
    const progress = { finished: 0, cost: Budget.nothing, most: Budget.nothing, underway: 9 };
    expect(Budget.admits(limits(1, null), Budget.opened, progress)).toBe(true);
  });

  it("estimates prompts by those that were counted", () => {
    expect(Budget.estimated(100, { characters: 0, tokens: 0 })).toBe(50);
    expect(Budget.estimated(100, { characters: 400, tokens: 100 })).toBe(25);
  });
});
