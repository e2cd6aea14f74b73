import { describe, expect, it } from "vitest";
import { RequestRouter } from "../../../src/remote/generation/RequestRouter.ts";

const up = (...places: readonly number[]): RequestRouter => {
  const router = new RequestRouter(places.length);
  for (const [server, count] of places.entries()) {
    router.resize(server, count);
    router.enter(server, "up");
  }
  return router;
};

const queueAll = (router: RequestRouter, ...pairs: ReadonlyArray<readonly [ticket: number, sequence: number]>) => {
  for (const [ticket, sequence] of pairs) router.wait(ticket, sequence);
  return router.takeGrants().map(({ server, ticket }) => [ticket, server]);
};

describe("the request router", () => {
  it("spreads new sequences by their share of the places", () => {
    const router = up(2, 4);
    expect(queueAll(router, [0, 10], [1, 11], [2, 12], [3, 13], [4, 14], [5, 15])).toEqual([
      [0, 0],
      [1, 1],
      [2, 1],
      [3, 0],
      [4, 1],
      [5, 1],
    ]);
  });

  it("gives a server no more requests than it has places, and what frees one to whoever waited longest", () => {
    const router = up(1);
    expect(queueAll(router, [0, 10], [1, 11], [2, 12])).toEqual([[0, 0]]);
    expect(router.waiting).toBe(2);
    router.ended(0);
    expect(router.takeGrants()).toEqual([{ ticket: 1, server: 0 }]);
    router.withdraw(2);
    router.ended(0);
    expect([router.takeGrants(), router.waiting]).toEqual([[], 0]);
  });

  it("keeps a sequence with its server, also where another has more room", () => {
    const router = up(1, 8);
    expect(queueAll(router, [0, 10])).toEqual([[0, 0]]);
    expect(queueAll(router, [1, 10])).toEqual([]);
    expect(queueAll(router, [2, 11])).toEqual([[2, 1]]);
    router.ended(0);
    expect(router.takeGrants()).toEqual([{ ticket: 1, server: 0 }]);
  });

  it("lets those who wait for a server that goes down go elsewhere, in their order", () => {
    const router = up(1, 1);
    queueAll(router, [0, 10], [1, 11]);
    expect(queueAll(router, [2, 11], [3, 10], [4, 12])).toEqual([]);
    router.enter(0, "joining");
    router.ended(0);
    expect(router.takeGrants()).toEqual([]);
    router.ended(1);
    expect(router.takeGrants()).toEqual([{ ticket: 2, server: 1 }]);
    router.ended(1);
    expect(router.takeGrants()).toEqual([{ ticket: 3, server: 1 }]);
    expect([router.up, router.allLost, router.places, router.open]).toEqual([[1], false, 1, 1]);
    router.enter(0, "lost");
    router.enter(1, "lost");
    expect(router.allLost).toBe(true);
  });

  it("forgets where a released sequence was", () => {
    const router = up(1, 1);
    queueAll(router, [0, 10]);
    router.release(10);
    expect(queueAll(router, [1, 10])).toEqual([[1, 1]]);
  });
});
