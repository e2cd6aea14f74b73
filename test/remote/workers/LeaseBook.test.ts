import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease, Offer } from "../../../src/remote/workers/Lease.ts";
import { LeaseBook } from "../../../src/remote/workers/LeaseBook.ts";
import { promptOf } from "../../build/groups.ts";
import { assertProperty } from "../../property.ts";

const silentMs = 100;
const opened = (...groups: readonly number[]): LeaseBook => {
  const book = new LeaseBook("now", silentMs);
  for (const group of groups) book.admit(promptOf(group, 4));
  return book;
};
const offered = (book: LeaseBook, ticket: string, now = 0): Offer => {
  const made = book.offer(ticket, now);
  if (made === undefined) throw new Error("nothing waits");
  return made.offer;
};
const given = (offer: Offer, delivery = 1): Lease => ({ ...offer, delivery });
const why = (book: LeaseBook, lease: Lease) => {
  const taken = book.judge(lease);
  return taken._tag === "Dropped" ? taken.why : "accepted";
};

describe("the lease book", () => {
  it("gives groups out in the order of admission, urgent ones and those that come back first", () => {
    const book = opened(0, 1, 2);
    book.admit(promptOf(3, 4, { urgent: true }));
    expect(book.takeHere()?.group).toBe(3);
    const first = offered(book, "t0");
    expect(first.group).toBe(0);
    expect(book.lost(first)).toBe(true);
    expect([offered(book, "t1").group, book.takeHere()?.group, book.takeHere()?.group]).toEqual([0, 1, 2]);
    expect(book.takeHere()).toBeUndefined();
  });

  it("takes a result once", () => {
    const book = opened(0);
    const lease = given(offered(book, "t"));
    expect(why(book, lease)).toBe("accepted");
    book.accept(lease, "a");
    expect(why(book, lease)).toBe("duplicate");
    expect(book.end(0)).toBeUndefined();
    expect(why(book, lease)).toBe("duplicate");
  });

  it("drops what an older ticket or an earlier holder sends", () => {
    const book = opened(0);
    const first = offered(book, "t0");
    book.lost(first);
    const second = offered(book, "t1");
    expect(why(book, given(first))).toBe("late");
    book.heard(given(second, 1), "a", 1);
    book.heard(given(second, 2), "b", 2);
    expect(why(book, given(second, 1))).toBe("late");
    expect(why(book, given(second, 2))).toBe("accepted");
  });

  it("drops what is sent under a lease that was never given", () => {
    const book = opened(0);
    const offer = offered(book, "secret");
    expect(why(book, given({ ...offer, ticket: "guess" }))).toBe("late");
    book.heard(given(offer), "a", 1);
    expect(why(book, given({ ...offer, ticket: "guess" }, 2))).toBe("late");
    expect(why(book, { ...given(offer), group: 7 })).toBe("not_leased");
    expect(why(book, { ...given(offer), epoch: "before" })).toBe("other_run");
  });

  it("takes the first result of two workers that were given the same delivery, and drops the second", () => {
    const book = opened(0);
    const offer = offered(book, "t");
    book.heard(given(offer), "a", 1);
    book.heard(given(offer), "b", 2);
    expect(why(book, given(offer))).toBe("accepted");
    book.accept(offer, "a");
    expect(why(book, given(offer))).toBe("duplicate");
  });

  it("drops a result of a group that is played here, or was taken back", () => {
    const book = opened(0);
    const offer = offered(book, "t");
    book.lost(offer);
    book.takeHere();
    expect(why(book, given(offer))).toBe("late");
    expect(book.end(0)).toBeUndefined();
    const again = opened(0);
    const out = offered(again, "t");
    expect(again.end(0)).toEqual(out);
    expect(again.out).toBe(0);
  });

  it("names the leases of which nothing was heard for too long, and no others", () => {
    const book = opened(0, 1, 2);
    const [a, b] = [offered(book, "a", 0), offered(book, "b", 10)];
    expect(book.deadline).toBe(silentMs);
    book.heard(given(a), "x", 50);
    expect(book.deadline).toBe(10 + silentMs);
    expect(book.overdue(10 + silentMs - 1)).toEqual([]);
    expect(book.overdue(10 + silentMs)).toEqual([b]);
    book.kept(b, 10 + silentMs);
    expect(book.overdue(10 + silentMs)).toEqual([]);
    expect(book.unheld()).toEqual([b]);
  });
});

/** What may happen to one group of several, and what a broker and workers may do. */
type Move =
  | { readonly _tag: "admit" }
  | { readonly _tag: "here" }
  | { readonly _tag: "offer" }
  | {
      readonly _tag: "hear" | "result" | "lose" | "keep";
      readonly of: number;
      readonly delivery: number;
      readonly worker: number;
    }
  | { readonly _tag: "book"; readonly of: number };

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    fc.constantFrom<Move>({ _tag: "admit" }, { _tag: "here" }, { _tag: "offer" }),
    fc.record({
      _tag: fc.constantFrom("hear" as const, "result" as const, "lose" as const, "keep" as const),
      of: fc.nat(30),
      delivery: fc.integer({ min: 1, max: 3 }),
      worker: fc.nat(2),
    }),
    fc.record({ _tag: fc.constant("book" as const), of: fc.nat(30) }),
  ),
  { maxLength: 120 },
);

describe("in any order of what workers, broker and learner do", () => {
  it("accepts every group at most once until it is booked, loses none, and can always go on", () => {
    assertProperty(
      fc.property(moves, (moves) => {
        const book = new LeaseBook("now", silentMs);
        const offers: Offer[] = [];
        const here = new Set<number>();
        const accepted = new Set<number>();
        const done = new Set<number>();
        let next = 0;
        for (const [now, move] of moves.entries()) {
          const offer = "of" in move && offers.length > 0 ? offers[move.of % offers.length] : undefined;
          if (move._tag === "admit") book.admit(promptOf(next++, 4));
          else if (move._tag === "here") {
            const prompt = book.takeHere();
            if (prompt !== undefined) here.add(prompt.group);
          } else if (move._tag === "offer") {
            const made = book.offer(`t${now}`, now);
            if (made !== undefined) offers.push(made.offer);
          } else if (move._tag === "book") {
            const open = [...accepted, ...here];
            const group = open[move.of % Math.max(1, open.length)];
            if (group === undefined) continue;
            book.end(group);
            accepted.delete(group);
            here.delete(group);
            done.add(group);
          } else if (offer === undefined) continue;
          else if (move._tag === "hear") book.heard(given(offer, move.delivery), `w${move.worker}`, now);
          else if (move._tag === "lose") book.lost(offer);
          else if (move._tag === "keep") book.kept(offer, now);
          else if (book.judge(given(offer, move.delivery))._tag === "Accepted") {
            expect(accepted.has(offer.group) || here.has(offer.group) || done.has(offer.group)).toBe(false);
            book.accept(offer, `w${move.worker}`);
            accepted.add(offer.group);
          }
          // Every group is in one place.
          expect(book.waiting + book.out + here.size + accepted.size + done.size).toBe(next);
        }
        // Whatever is still open ends when its offers are found lost.
        for (const offer of book.overdue(Number.MAX_SAFE_INTEGER)) book.lost(offer);
        expect(book.out).toBe(0);
        for (let prompt = book.takeHere(); prompt !== undefined; prompt = book.takeHere()) done.add(prompt.group);
        expect(done.size + here.size + accepted.size).toBe(next);
      }),
      { numRuns: 500 },
    );
  });
});
