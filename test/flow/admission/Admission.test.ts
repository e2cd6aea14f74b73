import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../../src/domain/Event.ts";
import * as FixedLag from "../../../src/domain/FixedLag.ts";
import type { Group } from "../../../src/domain/Group.ts";
import { lead as leadOf } from "../../../src/domain/PipelineMode.ts";
import * as Position from "../../../src/domain/Position.ts";
import * as Admission from "../../../src/flow/admission/Admission.ts";
import * as WindowAssembler from "../../../src/flow/WindowAssembler.ts";
import { failed, won } from "../../build/episodes.ts";
import { verdict } from "../../build/events.ts";
import { groupOf } from "../../build/groups.ts";
import { assertProperty } from "../../property.ts";

const rules = (mode: Admission.Rules["mode"], maxStaleness = 2, groups = 3, windows = 10): Admission.Rules => ({
  mode,
  groups,
  maxStaleness,
  windows,
});

/** Admits as many groups as the position allows. */
const fill = (rules: Admission.Rules, start = Position.start()) => {
  let position = start;
  const windows: number[] = [];
  const decide = () => Admission.decide(rules, position);
  for (let decision = decide(); decision._tag === "Admit"; decision = decide()) {
    windows.push(decision.window);
    position = Position.observe(position, { _tag: "Admitted", group: position.admitted, window: decision.window });
  }
  return { position, windows };
};

const adopted = (version: number) => ({ _tag: "WeightsAdopted", version }) as const;
const updated = (window: number, version = window + 1) =>
  ({ _tag: "Updated", window, groups: [], version, tokens: 0 }) as const;

describe("admission", () => {
  it("async admits the window being consumed and max_staleness more", () => {
    const spec = rules("async");
    const first = fill(spec);
    expect(first.windows).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2]);
    expect(Admission.decide(spec, first.position)).toEqual({ _tag: "Wait", window: 3, consumed: 1, version: 0 });
    expect(fill(spec, positionAfter(first.position, updated(0), adopted(1))).windows).toEqual([3, 3, 3]);
  });

  it("async opens a window only to a version that is not too old for it", () => {
    const spec = rules("async");
    const behind = positionAfter(fill(spec).position, updated(0));
    expect(Admission.decide(spec, behind)).toEqual({ _tag: "Wait", window: 3, consumed: 1, version: 1 });
    // A window that held nothing to train on makes no version, and is nothing to wait for.
    const empty = { _tag: "EmptySelection", window: 0, consecutive: 1 } as const;
    expect(fill(spec, positionAfter(fill(spec).position, empty)).windows).toEqual([3, 3, 3]);
    // Two versions on, generators may lag by one for a window that is to be consumed a window later.
    const two = positionAfter(behind, updated(1));
    expect(Admission.decide(spec, two)).toMatchObject({ version: 1 });
    expect(fill(spec, positionAfter(two, adopted(1))).windows).toEqual([3, 3, 3]);
    expect(fill(spec, positionAfter(two, adopted(2))).windows).toEqual([3, 3, 3, 4, 4, 4]);
  });

  it.each(["sync", "lockstep"] as const)("%s admits one window, and the next after its weights are adopted", (mode) => {
    const spec = rules(mode);
    const first = fill(spec);
    expect(first.windows).toEqual([0, 0, 0]);
    const updatedPosition = Position.observe(first.position, updated(0));
    expect(Admission.decide(spec, updatedPosition)).toEqual({ _tag: "Wait", window: 1, consumed: 1, version: 1 });
    expect(fill(spec, Position.observe(updatedPosition, adopted(1))).windows).toEqual([1, 1, 1]);
  });

  it("async with a bound of 0 is sync", () => {
    const spec = rules("async", 0);
    const first = fill(spec);
    expect(first.windows).toEqual([0, 0, 0]);
    expect(Admission.decide(spec, Position.observe(first.position, updated(0)))._tag).toBe("Wait");
  });

  it.each([
    { _tag: "EmptySelection", window: 0, consecutive: 1 },
    { _tag: "UpdateSkipped", window: 0, groups: [], reason: "not finite" },
  ] as const)("reopens after $_tag without a new version", (event) => {
    const spec = rules("sync");
    expect(fill(spec, Position.observe(fill(spec).position, event)).windows).toEqual([1, 1, 1]);
  });

  it("closes after the last window, and at once when stopped", () => {
    const spec = rules("async", 2, 3, 2);
    const first = fill(spec);
    expect(first.windows).toHaveLength(6);
    expect(Admission.decide(spec, first.position)).toEqual({ _tag: "Closed", reason: "complete" });
    const stopped = Position.observe(Position.start(), { _tag: "Stopped", reason: "stopped" });
    expect(Admission.decide(spec, stopped)).toEqual({ _tag: "Closed", reason: "stopped" });
  });

  it("goes on after a resume as if never stopped", () => {
    const resumed = Position.start({ consumed: 4, groups: 3, version: 4 });
    expect(fill(rules("async"), resumed).windows).toEqual([4, 4, 4, 5, 5, 5, 6, 6, 6]);
  });
});

const finished = (number: number, broken: boolean): Group => groupOf(number, Array(2).fill(broken ? failed : won));

/**
 * Plays a run whose groups finish in an order drawn from `choices`; gives the staleness of every consumed group, in windows, and that of the version
 * which generators had at its admission.
 */
const play = (
  spec: Admission.Rules,
  order: WindowAssembler.WindowOrder,
  choices: readonly {
    readonly pick: number;
    readonly failed: boolean;
    readonly trained: boolean;
    /** True where the generators have the newest version by now. */
    readonly adopts: boolean;
  }[],
) => {
  let position = Position.start();
  let assembler = WindowAssembler.start(order, spec.groups);
  const admittedAt = new Map<number, { readonly consumed: number; readonly adopted: number }>();
  const running: number[] = [];
  const stale: number[] = [];
  const lags: number[] = [];
  let version = 0;
  let worstBacklog = 0;
  let ended = 0;
  for (let tick = 0; ; tick++) {
    const choice = choices[tick % choices.length]!;
    // If no group is running, the generators adopt the version.
    if (choice.adopts || running.length === 0) position = Position.observe(position, adopted(version));
    const decide = () => Admission.decide(spec, position);
    for (let decision = decide(); decision._tag === "Admit"; decision = decide()) {
      admittedAt.set(position.admitted, position);
      running.push(position.admitted);
      position = Position.observe(position, {
        _tag: "Admitted",
        group: position.admitted,
        window: decision.window,
      });
    }
    worstBacklog = Math.max(worstBacklog, position.admitted - position.consumed * spec.groups);
    if (running.length === 0) break;
    const [number] = running.splice(choice.pick % running.length, 1);
    const step = WindowAssembler.addGroup(
      assembler,
      finished(number!, choice.failed),
      Math.floor(number! / spec.groups),
    );
    assembler = step.state;
    for (const window of step.windows) {
      for (const group of window.groups) {
        const at = admittedAt.get(group.prompt.group)!;
        stale.push(position.consumed - at.consumed);
        lags.push(version - at.adopted);
      }
      ended += spec.groups;
      const trains = window.groups.length > 0 && choice.trained;
      position = Position.observe(
        position,
        trains ? updated(window.index, ++version) : { _tag: "EmptySelection", window: window.index, consecutive: 1 },
      );
    }
  }
  return {
    stale,
    lags,
    worstBacklog,
    consumed: position.consumed,
    held: assembler.waiting.length,
    ended,
    admitted: position.admitted,
  };
};

const runs = fc.record({
  mode: fc.constantFrom("lockstep" as const, "sync" as const, "async" as const),
  groups: fc.integer({ min: 1, max: 5 }),
  maxStaleness: fc.integer({ min: 0, max: 4 }),
  windows: fc.integer({ min: 1, max: 12 }),
  choices: fc.array(
    fc.record({ pick: fc.nat(50), failed: fc.boolean(), trained: fc.boolean(), adopts: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 40,
    },
  ),
});

const asks = (window: number, groups: number) => ({ _tag: "Refill", window, round: 1, groups, reason: "" }) as const;
const stopped = { _tag: "Stopped", reason: "stopped" } as const;

/** The position after events, and admissions of what is decided then. */
const positionAfter = (start: Position.Position, ...events: readonly Event[]) => events.reduce(Position.observe, start);

describe("admission of what a window asks for", () => {
  const spec: Admission.Rules = { ...rules("async", 1, 2, 4), refills: true };
  const { position: full } = fill(spec);
  const admits = (position: Position.Position, paused = false) => Admission.decide(spec, position, paused);

  it("comes at once, before any other, and opens no window", () => {
    expect(admits(full)).toMatchObject({ _tag: "Wait", window: 2 });
    const refilling = positionAfter(full, asks(0, 2));
    expect(admits(refilling)).toMatchObject({ _tag: "Admit", window: 0, asked: { round: 1, groups: 2, admitted: 0 } });
    const refilled = positionAfter(
      refilling,
      { _tag: "Admitted", group: 4, window: 0, refill: 1 },
      { _tag: "Admitted", group: 5, window: 0, refill: 1 },
    );
    expect([refilled.admitted, refilled.asked]).toEqual([4, null]);
    expect(admits(refilled)).toEqual(admits(full));
  });

  it("waits for a version that is not too old for its window", () => {
    const behind = positionAfter(full, updated(0), asks(1, 1));
    expect(admits(behind)).toMatchObject({ _tag: "Admit", window: 1 });
    const late = positionAfter(behind, { _tag: "Admitted", group: 4, window: 1, refill: 1 }, updated(1), asks(2, 1));
    expect(admits(late)).toMatchObject({ _tag: "Wait", window: 2, version: 1 });
    expect(admits(positionAfter(late, adopted(1)))).toMatchObject({ _tag: "Admit", window: 2 });
  });

  it("waits while admission is paused, but not once a stop drains the run", () => {
    expect(admits(positionAfter(full, asks(0, 1)), true)).toEqual({ _tag: "Paused" });
    expect(admits(positionAfter(full, asks(0, 1), stopped), true)).toMatchObject({ _tag: "Admit", window: 0 });
  });

  it("is still to be expected after the last admission, until every whole window has its verdict", () => {
    const stop = positionAfter(full, stopped);
    expect(admits(stop)).toEqual({ _tag: "Verdict", window: 0 });
    expect(admits(positionAfter(stop, verdict(0)))).toEqual({ _tag: "Verdict", window: 1 });
    expect(admits(positionAfter(stop, verdict(0), verdict(1)))).toEqual({ _tag: "Closed", reason: "stopped" });
    expect(Admission.decide({ ...spec, refills: false }, stop)).toEqual({ _tag: "Closed", reason: "stopped" });
  });

  it("does not wait for a window that a stop left without some of its groups", () => {
    const begun = positionAfter(Position.start(), { _tag: "Admitted", group: 0, window: 0 }, stopped);
    expect(admits(begun)).toEqual({ _tag: "Closed", reason: "stopped" });
  });
});

describe("admission with windows in any order of completion", () => {
  it("consumes every window of the run: no deadlock, nothing left over", () => {
    assertProperty(
      fc.property(runs, fc.constantFrom("admission" as const, "completion" as const), ({ choices, ...spec }, order) => {
        const { consumed, held, ended, admitted } = play(spec, order, choices);
        expect({ consumed, held, ended }).toEqual({ consumed: spec.windows, held: 0, ended: admitted });
      }),
    );
  });

  it("bounds staleness in consumed windows, and in versions however late generators take them, under admission order", () => {
    assertProperty(
      fc.property(runs, ({ choices, ...spec }) => {
        const bound = leadOf(spec);
        const { lags, stale } = play(spec, "admission", choices);
        for (const staleness of [...stale, ...lags]) {
          expect(staleness).toBeGreaterThanOrEqual(0);
          expect(staleness).toBeLessThanOrEqual(bound);
        }
      }),
    );
  });

  it("bounds the backlog, and by it the mean staleness, under completion order", () => {
    assertProperty(
      fc.property(runs, ({ choices, ...spec }) => {
        const lead = leadOf(spec);
        const { stale, worstBacklog } = play(spec, "completion", choices);
        expect(worstBacklog).toBeLessThanOrEqual((lead + 1) * spec.groups);
        const total = stale.reduce((sum, s) => sum + s, 0);
        // Each consumed window ages at most the lead's worth of groups that it does not contain.
        expect(total).toBeLessThanOrEqual(lead * spec.groups * spec.windows);
      }),
    );
  });
});

describe("admission with a fixed lag", () => {
  const spec: Admission.Rules = { ...rules("async", 2, 2), refills: true };
  const begun = Position.start({ fixedLag: FixedLag.start(2) });
  const consumed = (window: number, version: number | null) =>
    version === null ? ({ _tag: "EmptySelection", window, consecutive: 1 } as const) : updated(window, version);

  it("pins a window to the version that stood so many windows before, and waits until generators have it", () => {
    const { position: full } = fill(spec, begun);
    expect(Admission.decide(spec, begun)).toEqual({ _tag: "Admit", window: 0, pin: 0 });
    expect(Admission.decide(spec, full)).toEqual({ _tag: "Wait", window: 3, consumed: 1, version: 0 });
    const one = positionAfter(full, consumed(0, 1));
    expect(Admission.decide(spec, one)).toEqual({ _tag: "Wait", window: 3, consumed: 1, version: 1 });
    expect(Admission.decide(spec, positionAfter(one, adopted(1)))).toEqual({ _tag: "Admit", window: 3, pin: 1 });
    // A window that made no version leaves the one before, which they have.
    const none = positionAfter(full, consumed(0, null));
    expect(Admission.decide(spec, none)).toEqual({ _tag: "Admit", window: 3, pin: 0 });
  });

  it("plays a refill by its window's version, however new the generators' is", () => {
    const late = positionAfter(fill(spec, begun).position, consumed(0, 1), consumed(1, 2), adopted(2), asks(2, 1));
    expect(Admission.decide(spec, late)).toMatchObject({ _tag: "Admit", window: 2, pin: 0, asked: { round: 1 } });
  });
});
