import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { giveBack, initial, issue, nextGroup, type SeedSchedule } from "../../src/domain/SeedSchedule.ts";
import { assertProperty } from "../property.ts";

const issueMany = (start: SeedSchedule, count: number): readonly [number[], SeedSchedule] => {
  const groups: number[] = [];
  let schedule = start;
  for (let i = 0; i < count; i++) {
    const group = nextGroup(schedule);
    groups.push(group);
    schedule = issue(schedule, group);
  }
  return [groups, schedule];
};

describe("the seed schedule", () => {
  it("issues what was given back first, then goes on", () => {
    const [, schedule] = issueMany(initial, 6);
    expect(issueMany(giveBack(schedule, [5, 1]), 3)[0]).toEqual([1, 5, 6]);
  });

  it("issues every number exactly once until it is given back, through serialisation", () => {
    assertProperty(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.infiniteStream(fc.boolean()), (count, coins) => {
        const [first, schedule] = issueMany(initial, count);
        const cut = first.filter(() => coins.next().value);
        const restored = JSON.parse(JSON.stringify(giveBack(schedule, cut))) as SeedSchedule;
        expect(issueMany(restored, cut.length + 1)[0]).toEqual([...cut, count]);
      }),
    );
  });
});
