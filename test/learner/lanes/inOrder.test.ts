import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runInOrder } from "../../../src/learner/lanes/runInOrder.ts";
import { assertProperty } from "../../property.ts";

/** A worker whose items take as many turns of the event loop as `turns` says. */
const slow =
  (turns: readonly number[]) =>
  async (item: number): Promise<number> => {
    for (let turn = 0; turn < (turns[item] ?? 0); turn++) await new Promise(setImmediate);
    return item * 10;
  };

const cases = fc.record({
  turns: fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 20 }),
  workers: fc.integer({ min: 1, max: 5 }),
  ahead: fc.integer({ min: 1, max: 6 }),
});

describe("items run in order", () => {
  it("have their results used once each, in the order of the items, whatever each takes", () =>
    assertProperty(
      fc.asyncProperty(cases, async ({ turns, workers, ahead }) => {
        const used: [number, number][] = [];
        await runInOrder({
          count: turns.length,
          workers: Array.from({ length: workers }, () => slow(turns)),
          ahead,
          use: (result, item) => used.push([item, result]),
        });
        expect(used).toEqual(turns.map((_, item) => [item, item * 10]));
      }),
    ));

  it("never run further ahead of the next one to use than allowed", () =>
    assertProperty(
      fc.asyncProperty(cases, async ({ turns, workers, ahead }) => {
        let used = 0;
        let most = 0;
        const worker = async (item: number) => {
          most = Math.max(most, item - used + 1);
          return slow(turns)(item);
        };
        await runInOrder({
          count: turns.length,
          workers: Array.from({ length: workers }, () => worker),
          ahead,
          use: () => used++,
        });
        expect(most).toBeLessThanOrEqual(ahead);
      }),
    ));

  it("go to whichever worker is free", async () => {
    const ran: string[] = [];
    const named = (name: string, turns: number) => (item: number) => {
      ran.push(`${name}${item}`);
      return slow(Array.from({ length: 8 }, () => turns))(item);
    };
    await runInOrder({ count: 5, workers: [named("slow", 20), named("quick", 2)], ahead: 10, use: () => undefined });
    expect(ran).toEqual(["slow0", "quick1", "quick2", "quick3", "quick4"]);
  });

  it("stop at the first failure, which is passed on once the other workers have come to rest", async () => {
    let running = 0;
    const begun: number[] = [];
    const worker = async (item: number) => {
      begun.push(item);
      running++;
      await slow([1, 4, 1, 1, 1, 1])(item);
      running--;
      if (item === 0) throw new Error("refused");
      return item;
    };
    const all = runInOrder({ count: 6, workers: [worker, worker, worker], ahead: 3, use: () => undefined });
    await expect(all).rejects.toThrow("refused");
    expect(running).toBe(0);
    expect(begun).toEqual([0, 1, 2]);
  });
});
