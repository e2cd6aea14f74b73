import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  consumedGroups,
  giveBack,
  goOnWith,
  initial,
  issue,
  nextGroup,
  type RefillNumbers,
  refillGroup,
  type SeedSchedule,
} from "../../src/domain/SeedSchedule.ts";
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

/** Refills of at most so many rounds and groups a round; a window has the numbers of them all, or more. */
const refills = fc.record({
  rounds: fc.integer({ min: 1, max: 4 }),
  perRound: fc.integer({ min: 1, max: 4 }),
  spare: fc.integer({ min: 0, max: 3 }),
});
type Refills = typeof refills extends fc.Arbitrary<infer A> ? A : never;

const numbersOf = ({ perRound, rounds, spare }: Refills): RefillNumbers => ({
  perRound,
  perWindow: rounds * perRound + spare,
});

/** The numbers of all groups that the refills of a window may ask for. */
const refillsOf = (schedule: SeedSchedule, refills: Refills, window: number): readonly number[] =>
  Array.from({ length: refills.rounds }, (_, i) => i + 1).flatMap((round) =>
    Array.from({ length: refills.perRound }, (_, place) =>
      refillGroup(schedule, numbersOf(refills), { window, round, place }),
    ),
  );

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

  it("numbers windows' own groups in the order of admission, whatever refills come between them", () => {
    assertProperty(
      fc.property(refills, fc.array(fc.nat(3), { maxLength: 20 }), (refills, asking) => {
        let schedule = initial;
        const numbers: number[] = [];
        for (const window of asking) {
          numbers.push(nextGroup(schedule));
          schedule = issue(schedule, numbers.at(-1)!);
          for (const group of refillsOf(schedule, refills, window)) schedule = issue(schedule, group);
        }
        expect(numbers).toEqual(asking.map((_, i) => i));
      }),
    );
  });

  it("gives every group of every refill another number, also where a run goes on with more or fewer of them", () => {
    assertProperty(
      fc.property(
        fc.array(fc.record({ windows: fc.integer({ min: 1, max: 4 }), refills }), { minLength: 1, maxLength: 4 }),
        (lives) => {
          const numbers: number[] = [];
          let schedule = initial;
          let window = 0;
          for (const { refills, windows } of lives) {
            const end = window + windows;
            for (; window < end; window++) numbers.push(...refillsOf(schedule, refills, window));
            schedule = goOnWith(schedule, window, numbersOf(refills));
          }
          expect(new Set(numbers).size).toBe(numbers.length);
          expect(Math.min(...numbers)).toBeGreaterThan(nextGroup(issueMany(initial, 1_000)[1]));
        },
      ),
    );
  });

  it("gives a window's refills the same numbers from whichever checkpoint before it a run goes on", () => {
    assertProperty(
      fc.property(refills, fc.nat(9), fc.nat(9), (refills, step, ahead) => {
        const resumed = goOnWith(initial, step, numbersOf(refills));
        expect(refillsOf(resumed, refills, step + ahead)).toEqual(refillsOf(initial, refills, step + ahead));
      }),
    );
  });

  it("tells the groups of consumed windows by a checkpoint's schedule", () => {
    assertProperty(
      fc.property(refills, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 3 }), (refills, step, size) => {
        const [issued, schedule] = issueMany(initial, (step + 1) * size);
        const open = [...issued.slice(step * size), ...refillsOf(initial, refills, step)];
        const saved = goOnWith(giveBack(schedule, open), step, numbersOf(refills));
        const isConsumed = consumedGroups(saved);
        expect(issued.filter(isConsumed)).toEqual(issued.slice(0, step * size));
        expect(refillsOf(initial, refills, step - 1).every(isConsumed)).toBe(true);
        expect(refillsOf(initial, refills, step).some(isConsumed)).toBe(false);
        expect(saved.returned).toEqual(issued.slice(step * size));
      }),
    );
  });
});
