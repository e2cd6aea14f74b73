import { describe, expect, it } from "vitest";
import { RequestRouter } from "../../../src/remote/generation/RequestRouter.ts";

const up = (...places: readonly number[]): RequestRouter => {
  const fleet = new RequestRouter(places.length);
  for (const [server, count] of places.entries()) {
    fleet.resize(server, count);
    fleet.enter(server, "up");
  }
  return fleet;
};

const asked = (fleet: RequestRouter, ...pairs: ReadonlyArray<readonly [ticket: number, sequence: number]>) => {
  for (const [ticket, sequence] of pairs) fleet.wait(ticket, sequence);
  return fleet.takeGrants().map(({ server, ticket }) => [ticket, server]);
};

describe("Fleet", () => {
  it("spreads new sequences by their share of the places", () => {
    const fleet = up(2, 4);
    expect(asked(fleet, [0, 10], [1, 11], [2, 12], [3, 13], [4, 14], [5, 15])).toEqual([
      [0, 0],
      [1, 1],
      [2, 1],
      [3, 0],
      [4, 1],
      [5, 1],
    ]);
  });

  it("gives a server no more requests than it has places, and what frees one to whoever waited longest", () => {
    const fleet = up(1);
    expect(asked(fleet, [0, 10], [1, 11], [2, 12])).toEqual([[0, 0]]);
    expect(fleet.waiting).toBe(2);
    fleet.ended(0);
    expect(fleet.takeGrants()).toEqual([{ ticket: 1, server: 0 }]);
    fleet.withdraw(2);
    fleet.ended(0);
    expect([fleet.takeGrants(), fleet.waiting]).toEqual([[], 0]);
  });

  it("keeps a sequence with its server, also where another has more room", () => {
    const fleet = up(1, 8);
    expect(asked(fleet, [0, 10])).toEqual([[0, 0]]);
    expect(asked(fleet, [1, 10])).toEqual([]);
    expect(asked(fleet, [2, 11])).toEqual([[2, 1]]);
    fleet.ended(0);
    expect(fleet.takeGrants()).toEqual([{ ticket: 1, server: 0 }]);
  });

  it("lets those who wait for a server that goes down go elsewhere, in their order", () => {
    const fleet = up(1, 1);
    asked(fleet, [0, 10], [1, 11]);
    expect(asked(fleet, [2, 11], [3, 10], [4, 12])).toEqual([]);
    fleet.enter(0, "joining");
    fleet.ended(0);
    expect(fleet.takeGrants()).toEqual([]);
    fleet.ended(1);
    expect(fleet.takeGrants()).toEqual([{ ticket: 2, server: 1 }]);
    fleet.ended(1);
    expect(fleet.takeGrants()).toEqual([{ ticket: 3, server: 1 }]);
    expect([fleet.up, fleet.allLost, fleet.places, fleet.open]).toEqual([[1], false, 1, 1]);
    fleet.enter(0, "lost");
    fleet.enter(1, "lost");
    expect(fleet.allLost).toBe(true);
  });

  it("forgets where a released sequence was", () => {
    const fleet = up(1, 1);
    asked(fleet, [0, 10]);
    fleet.release(10);
    expect(asked(fleet, [1, 10])).toEqual([[1, 1]]);
  });
});
