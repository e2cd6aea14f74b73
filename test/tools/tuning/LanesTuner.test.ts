/** The lanes tuner on machines in virtual time, whose best number of lanes is found by running all of them. */
import { describe, expect, it } from "vitest";
import type { RunSample } from "../../../src/tools/simulation/RunShape.ts";
import { run } from "../../../src/tools/simulation/run.ts";
import * as LanesTuner from "../../../src/tools/tuning/LanesTuner.ts";
import {
  type Change,
  fixedPaces,
  type LanesMachine,
  MINUTE,
  optionsOf,
  pace,
  shapeOf,
  tuned,
} from "./lanesMachines.ts";

const LENGTH = 10 * MINUTE;
/** Windows a second count from here on. */
const LATER = 5 * MINUTE;

/** Lanes take cores from the generators; the fewest are best, or those that just keep up. */
const fewest: LanesMachine = { cores: 3, threads: 2, lanes: 4, tokens: 80, micro: 90 };
const middle: LanesMachine = { cores: 4, threads: 2, lanes: 4, tokens: 60, micro: 130 };
const two: LanesMachine = { cores: 2, threads: 1, lanes: 2, tokens: 60, micro: 60 };
const updates: LanesMachine = { cores: 4, threads: 2, lanes: 4, tokens: 20, micro: 400 };
/** Cores for all. */
const same: LanesMachine = { cores: 16, threads: 2, lanes: 4, tokens: 90, micro: 30 };

const endsAt = (from: number, changes: readonly Change[]): number => changes.at(-1)?.control.concurrency ?? from;

describe("where lanes and generators share the cores", () => {
  const machines = { fewest, middle, two };
  const cases = Object.entries(machines).flatMap(([name, machine]) =>
    [1, 2].map((seed) => [name, seed, machine] as const),
  );
  it.each(cases)("comes within three percent of the best fixed number: %s, seed %i", (_, seed, machine) => {
    const shape = shapeOf(machine, seed, LENGTH);
    const fixed = fixedPaces(shape, LATER, LENGTH);
    const best = fixed.indexOf(Math.max(...fixed)) + 1;
    expect(fixed.at(-1)).toBeLessThan(0.97 * fixed[best - 1]!);
    const { changes, consumedAt } = tuned(shape);
    expect(pace(consumedAt, LATER, LENGTH)).toBeGreaterThan(0.97 * fixed[best - 1]!);
    expect(endsAt(machine.lanes, changes)).toBe(best);
  });
});

describe("where updates set the pace", () => {
  it("stays at the most", () => {
    expect(tuned(shapeOf(updates, 1, LENGTH)).changes).toEqual([]);
  });

  it("goes to the most", () => {
    const shape = shapeOf(updates, 1, LENGTH);
    const { changes, consumedAt } = tuned(shape, 1);
    expect(changes.map(({ control }) => control.concurrency)).toEqual([2, 4]);
    const fixed = fixedPaces(shape, LATER, LENGTH);
    expect(pace(consumedAt, LATER, LENGTH)).toBeGreaterThan(0.97 * Math.max(...fixed));
  });
});

describe("where the number makes no difference", () => {
  it.each([1, 2, 3])("goes back to what it was, and tries no more than twice in ten minutes, seed %i", (seed) => {
    const { changes } = tuned(shapeOf(same, seed, LENGTH));
    expect(changes.slice(0, 2).map(({ control }) => control.concurrency)).toEqual([1, 4]);
    expect(changes[1]?.reason).toContain("no clear gain");
    expect(changes.length).toBeLessThanOrEqual(4);
  });

  it("leaves a number that did not pay alone for five minutes, then for ten", () => {
    const { changes } = tuned(shapeOf({ ...same, lanes: 2 }, 2, 2.5 * LENGTH));
    const at = changes.map((change) => change.at);
    expect(changes.map(({ control }) => control.concurrency).slice(0, 5)).toEqual([1, 2, 1, 2, 1]);
    expect(at[2]! - at[1]!).toBeGreaterThanOrEqual(5 * MINUTE);
    expect(at[4]! - at[3]!).toBeGreaterThanOrEqual(10 * MINUTE);
  });
});

it("tries a number again as soon as service times have changed", () => {
  const shape = shapeOf({ ...same, lanes: 2 }, 2, LENGTH);
  const { generators } = shape;
  // Replies become twice as long when about five minutes have passed.
  const tokens = (group: number, member: number, turn: number): number =>
    generators!.tokens(group, member, turn) * (group < 4 * 160 ? 1 : 2);
  const { changes } = tuned({ ...shape, generators: { ...generators!, tokens } });
  const [, back, again] = changes;
  expect(back!.at).toBeLessThan(5 * MINUTE);
  expect(again!.at - back!.at).toBeLessThan(5 * MINUTE);
});

it("compares with a number that was left, after ten minutes", () => {
  const { changes } = tuned(shapeOf(two, 1, 2 * LENGTH));
  expect(changes.slice(0, 3).map(({ control }) => control.concurrency)).toEqual([1, 2, 1]);
  expect(changes[1]!.at - changes[0]!.at).toBeGreaterThanOrEqual(10 * MINUTE);
  expect(changes[1]!.reason).toContain("used before");
});

it("counts neither the time in which a step validates, nor the windows that are made meanwhile", () => {
  const shape = shapeOf(fewest, 1, LENGTH);
  const close = (window: number): number => (window % 15 === 14 ? 20_000 : 0);
  const { changes } = tuned({ ...shape, close });
  const rate = Number(/([\d.]+) windows a second with 4/.exec(changes[0]!.reason)![1]);
  const unclosed = fixedPaces(shape, LATER, LENGTH).at(-1)!;
  expect(Math.abs(rate / unclosed - 1)).toBeLessThan(0.05);
  // The windows that pile up meanwhile would make updates seem to set the pace.
  expect(changes.map(({ control }) => control.concurrency)).toEqual([1]);
});

it("changes one thing at a time, at most once a minute, within what there is, and says why", () => {
  for (const machine of [fewest, middle, two, same]) {
    const { changes } = tuned(shapeOf(machine, 3, LENGTH));
    let [lanes, last] = [machine.lanes, 0];
    expect(changes.length).toBeGreaterThan(0);
    for (const { at, control, reason } of changes) {
      expect(at - last).toBeGreaterThanOrEqual(MINUTE);
      expect(control.stage).toBe("lanes");
      expect(control.concurrency).not.toBe(lanes);
      expect(control.concurrency).toBeGreaterThanOrEqual(1);
      expect(control.concurrency).toBeLessThanOrEqual(machine.lanes);
      expect(reason).toContain(`lanes from ${lanes} to ${control.concurrency}: `);
      [lanes, last] = [control.concurrency, at];
    }
  }
});

describe("does nothing", () => {
  it("while others change settings", () => {
    expect(tuned(shapeOf(fewest, 1, LENGTH), 4, () => false).changes).toEqual([]);
  });

  it("where there is one lane", () => {
    expect(tuned(shapeOf({ ...fewest, lanes: 1 }, 1, 3 * MINUTE)).changes).toEqual([]);
  });

  it("while validation takes most of the time", () => {
    const shape = { ...shapeOf(fewest, 1, LENGTH), close: () => 4000 };
    expect(tuned(shape).changes).toEqual([]);
  });

  it("in sync, where fewer lanes leave nothing to generation", () => {
    expect(tuned(shapeOf({ ...fewest, mode: "sync" }, 1, LENGTH)).changes).toEqual([]);
  });
});

it("goes back from a trial that other changes disturb, and may try the number again", () => {
  const shape = shapeOf(fewest, 1, LENGTH);
  const first = tuned(shape).changes[0]!;
  const free = ({ elapsedMs }: RunSample): boolean => Math.abs(elapsedMs - first.at - 30_000) > 5000;
  const { changes } = tuned(shape, 4, free);
  expect(changes.slice(0, 3).map(({ control }) => control.concurrency)).toEqual([1, 4, 1]);
  expect(changes[1]?.reason).toContain("other settings changed");
  expect(changes[2]!.at - changes[1]!.at).toBeLessThan(3 * MINUTE);
});

it("goes back from a trial that shows nothing in a quarter of an hour", () => {
  const shape = shapeOf(fewest, 1, 2 * LENGTH);
  const { changes } = tuned({ ...shape, close: (window) => (window < 56 ? 0 : 4000) });
  expect(changes.map(({ control }) => control.concurrency)).toEqual([1, 4]);
  expect(changes[1]!.at - changes[0]!.at).toBe(15 * MINUTE);
  expect(changes[1]!.reason).toContain("too few windows");
});

describe("from samples of a run", () => {
  const samples = (): readonly RunSample[] => {
    const collected: RunSample[] = [];
    const onSample = (sample: RunSample): void => void collected.push(sample);
    run({ ...shapeOf(fewest, 1, LENGTH), observer: { everyMs: 1000, onSample } });
    return collected;
  };
  const options = optionsOf(shapeOf(fewest, 1, LENGTH));

  it("takes a number that someone else sets as the present one, and gives a change up that is not carried out", () => {
    let state = LanesTuner.start(options);
    const decisions: string[] = [];
    const trying: boolean[] = [];
    for (const sample of samples()) {
      const outcome = LanesTuner.observe(state, { ...sample, lanes: 4, free: true });
      state = outcome.state;
      trying.push(LanesTuner.isTrying(state));
      if (outcome.decision !== null) decisions.push(outcome.decision.reason);
    }
    // Each number that is refused is left alone for a while.
    expect(new Set(decisions).size).toBe(decisions.length);
    expect(decisions.every((reason) => reason.startsWith("lanes from 4 to "))).toBe(true);
    expect(trying.filter((now) => now).length).toBeLessThanOrEqual(6 * decisions.length);
  });

  it("is a function of what it observes", () => {
    const all = samples().map((sample) => ({ ...sample, lanes: 4, free: true }));
    const half = Math.floor(all.length / 2);
    const through = (from: LanesTuner.State, part: typeof all) =>
      part.reduce((state, one) => LanesTuner.observe(state, one).state, from);
    const middle = through(LanesTuner.start(options), all.slice(0, half));
    const kept = structuredClone(middle);
    const end = through(middle, all.slice(half));
    expect(middle).toEqual(kept);
    expect(through(kept, all.slice(half))).toEqual(end);
  });
});
