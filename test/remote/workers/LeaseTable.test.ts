import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease, Offer } from "../../../src/remote/workers/Lease.ts";
import { LeaseTable } from "../../../src/remote/workers/LeaseTable.ts";
import { promptOf } from "../../build/groups.ts";
import { assertProperty } from "../../property.ts";

const silentMs = 100;
const tableOf = (...groups: readonly number[]): LeaseTable => {
  const table = new LeaseTable("now", silentMs);
  for (const group of groups) table.admit(promptOf(group, 4));
  return table;
};
const offered = (table: LeaseTable, ticket: string, now = 0): Offer => {
  const pending = table.offer(ticket, now);
  if (pending === undefined) throw new Error("nothing waits");
  return pending.offer;
};
const leaseOf = (offer: Offer, delivery = 1): Lease => ({ ...offer, delivery });
const why = (table: LeaseTable, lease: Lease) => {
  const result = table.check(lease);
  return result._tag === "Dropped" ? result.why : "accepted";
};

describe("the lease table", () => {
  it("gives groups out in the order of admission, urgent ones and those that come back first", () => {
    const table = tableOf(0, 1, 2);
    table.admit(promptOf(3, 4, { urgent: true }));
    expect(table.takeLocal()?.group).toBe(3);
    const first = offered(table, "t0");
    expect(first.group).toBe(0);
    expect(table.reclaim(first)).toBe(true);
    expect([offered(table, "t1").group, table.takeLocal()?.group, table.takeLocal()?.group]).toEqual([0, 1, 2]);
    expect(table.takeLocal()).toBeUndefined();
  });

  it("takes a result once", () => {
    const table = tableOf(0);
    const lease = leaseOf(offered(table, "t"));
    expect(why(table, lease)).toBe("accepted");
    table.accept(lease, "a");
    expect(why(table, lease)).toBe("duplicate");
    expect(table.close(0)).toBeUndefined();
    expect(why(table, lease)).toBe("duplicate");
  });

  it("drops what an older ticket or an earlier holder sends", () => {
    const table = tableOf(0);
    const first = offered(table, "t0");
    table.reclaim(first);
    const second = offered(table, "t1");
    expect(why(table, leaseOf(first))).toBe("late");
    table.renew(leaseOf(second, 1), "a", 1);
    table.renew(leaseOf(second, 2), "b", 2);
    expect(why(table, leaseOf(second, 1))).toBe("late");
    expect(why(table, leaseOf(second, 2))).toBe("accepted");
  });

  it("drops what is sent under a lease that was never given", () => {
    const table = tableOf(0);
    const offer = offered(table, "secret");
    expect(why(table, leaseOf({ ...offer, ticket: "guess" }))).toBe("late");
    table.renew(leaseOf(offer), "a", 1);
    expect(why(table, leaseOf({ ...offer, ticket: "guess" }, 2))).toBe("late");
    expect(why(table, { ...leaseOf(offer), group: 7 })).toBe("not_leased");
    expect(why(table, { ...leaseOf(offer), epoch: "before" })).toBe("other_run");
  });

  it("takes the first result of two workers that were given the same delivery, and drops the second", () => {
    const table = tableOf(0);
    const offer = offered(table, "t");
    table.renew(leaseOf(offer), "a", 1);
    table.renew(leaseOf(offer), "b", 2);
    expect(why(table, leaseOf(offer))).toBe("accepted");
    table.accept(offer, "a");
    expect(why(table, leaseOf(offer))).toBe("duplicate");
  });

  it("drops a result of a group that is played by the learner itself, or was reclaimed", () => {
    const table = tableOf(0);
    const offer = offered(table, "t");
    table.reclaim(offer);
    table.takeLocal();
    expect(why(table, leaseOf(offer))).toBe("late");
    expect(table.close(0)).toBeUndefined();
    const again = tableOf(0);
    const out = offered(again, "t");
    expect(again.close(0)).toEqual(out);
    expect(again.openCount).toBe(0);
  });

  it("names the leases of which nothing was heard for too long, and no others", () => {
    const table = tableOf(0, 1, 2);
    const [a, b] = [offered(table, "a", 0), offered(table, "b", 10)];
    expect(table.nextDeadline).toBe(silentMs);
    table.renew(leaseOf(a), "x", 50);
    expect(table.nextDeadline).toBe(10 + silentMs);
    expect(table.overdueOffers(10 + silentMs - 1)).toEqual([]);
    expect(table.overdueOffers(10 + silentMs)).toEqual([b]);
    table.confirm(b, 10 + silentMs);
    expect(table.overdueOffers(10 + silentMs)).toEqual([]);
    expect(table.unclaimedOffers()).toEqual([b]);
  });
});

/** One event of a group, a worker or the broker. */
type Move =
  | { readonly _tag: "admit" }
  | { readonly _tag: "local" }
  | { readonly _tag: "offer" }
  | {
      readonly _tag: "renew" | "result" | "reclaim" | "confirm";
      readonly index: number;
      readonly delivery: number;
      readonly worker: number;
    }
  | { readonly _tag: "close"; readonly index: number };

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    fc.constantFrom<Move>({ _tag: "admit" }, { _tag: "local" }, { _tag: "offer" }),
    fc.record({
      _tag: fc.constantFrom("renew" as const, "result" as const, "reclaim" as const, "confirm" as const),
      index: fc.nat(30),
      delivery: fc.integer({ min: 1, max: 3 }),
      worker: fc.nat(2),
    }),
    fc.record({ _tag: fc.constant("close" as const), index: fc.nat(30) }),
  ),
  { maxLength: 120 },
);

describe("in any order of what workers, broker and learner do", () => {
  it("accepts every group at most once until it is recorded, loses none, and can always go on", () => {
    assertProperty(
      fc.property(moves, (moves) => {
        const table = new LeaseTable("now", silentMs);
        const offers: Offer[] = [];
        const local = new Set<number>();
        const accepted = new Set<number>();
        const done = new Set<number>();
        let next = 0;
        for (const [now, move] of moves.entries()) {
          const offer = "index" in move && offers.length > 0 ? offers[move.index % offers.length] : undefined;
          if (move._tag === "admit") table.admit(promptOf(next++, 4));
          else if (move._tag === "local") {
            const prompt = table.takeLocal();
            if (prompt !== undefined) local.add(prompt.group);
          } else if (move._tag === "offer") {
            const pending = table.offer(`t${now}`, now);
            if (pending !== undefined) offers.push(pending.offer);
          } else if (move._tag === "close") {
            const open = [...accepted, ...local];
            const group = open[move.index % Math.max(1, open.length)];
            if (group === undefined) continue;
            table.close(group);
            accepted.delete(group);
            local.delete(group);
            done.add(group);
          } else if (offer === undefined) continue;
          else if (move._tag === "renew") table.renew(leaseOf(offer, move.delivery), `w${move.worker}`, now);
          else if (move._tag === "reclaim") table.reclaim(offer);
          else if (move._tag === "confirm") table.confirm(offer, now);
          else if (table.check(leaseOf(offer, move.delivery))._tag === "Accepted") {
            expect(accepted.has(offer.group) || local.has(offer.group) || done.has(offer.group)).toBe(false);
            table.accept(offer, `w${move.worker}`);
            accepted.add(offer.group);
          }
          // Every group is in one place.
          expect(table.waitingCount + table.openCount + local.size + accepted.size + done.size).toBe(next);
        }
        // Open groups end when their offers are found lost.
        for (const offer of table.overdueOffers(Number.MAX_SAFE_INTEGER)) table.reclaim(offer);
        expect(table.openCount).toBe(0);
        for (let prompt = table.takeLocal(); prompt !== undefined; prompt = table.takeLocal()) done.add(prompt.group);
        expect(done.size + local.size + accepted.size).toBe(next);
      }),
      { numRuns: 500 },
    );
  });
});
