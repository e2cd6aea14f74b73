/** Bodies within a budget: what they hold is counted to the byte, and given back. */
import { describe, expect, it } from "vitest";
import { Body } from "../../../src/support/http/Body.ts";
import { makeByteBudget } from "../../../src/support/http/ByteBudget.ts";

const bytes = (length: number): Uint8Array => Buffer.alloc(length, "x");

describe("a budget", () => {
  it("has shares that never exceed it together", () => {
    const budget = makeByteBudget(100);
    const [a, b] = [budget.openShare(), budget.openShare()];
    expect([a.resize(60), b.resize(41), b.resize(40), a.resize(61), budget.usedBytes()]).toEqual([
      true,
      false,
      true,
      false,
      100,
    ]);
    expect([a.resize(10), b.resize(90), budget.usedBytes()]).toEqual([true, true, 100]);
  });

  it("has back what is released, once, and gives nothing to a share that was", () => {
    const budget = makeByteBudget(100);
    const share = budget.openShare();
    share.resize(70);
    share.release();
    share.release();
    expect([share.resize(1), budget.usedBytes()]).toEqual([false, 0]);
  });
});

describe("a body", () => {
  it("is its pieces in order", () => {
    const body = new Body(10_000, makeByteBudget(20_000).openShare());
    const text = Array.from({ length: 1_500 }, (_, at) => `${at % 7}`).join("");
    for (const letter of text) expect(body.add(Buffer.from(letter))).toBeNull();
    expect(body.text()).toBe(text);
  });

  it("is as long as it may be, and no longer", () => {
    const body = new Body(1_000, makeByteBudget(20_000).openShare());
    expect(body.add(bytes(1_000))).toBeNull();
    expect(body.add(bytes(1))).toBe("long");
  });

  it("of many small pieces holds at most twice its length", () => {
    const budget = makeByteBudget(1_000_000);
    const body = new Body(500_000, budget.openShare());
    for (let at = 0; at < 20_000; at++) body.add(bytes(1));
    expect(budget.usedBytes()).toBeLessThanOrEqual(40_000);
  });

  it("is refused where all bodies hold what they may, until one is done", () => {
    const budget = makeByteBudget(4_000);
    const [first, second] = [new Body(4_000, budget.openShare()), new Body(4_000, budget.openShare())];
    expect(first.add(bytes(1_500))).toBeNull();
    expect(second.add(bytes(1_500))).toBe("full");
    first.release();
    expect(second.add(bytes(1_500))).toBeNull();
    second.release();
    expect(budget.usedBytes()).toBe(0);
  });
});
