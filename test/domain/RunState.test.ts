import { Effect, HashMap } from "effect";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import * as Ledger from "../../src/domain/Ledger.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as SeedSchedule from "../../src/domain/SeedSchedule.ts";
import { finished } from "../build/events.ts";
import { assertProperty } from "../property.ts";

const stateAfter = (events: readonly Event[], start = RunState.initial): RunState.RunState =>
  events.reduce(RunState.observe, start);
const admitted = (...groups: readonly number[]): Event[] =>
  groups.map((group) => ({ _tag: "Admitted", group, window: Math.floor(group / 2) }));
const ended = (group: number): Event => finished(group, { tokens: 5 });
const updated = (window: number, groups: readonly number[]): Event[] => [
  { _tag: "Verdict", window, kept: groups, filtered: [], judged: [] },
  { _tag: "Updated", window, groups, version: window + 1, tokens: 10 },
];
const closed = (step: number, groups: readonly number[]): Event => ({
  _tag: "StepClosed",
  step,
  groups,
  seconds: step,
});
/** One whole window of two groups. */
const window = (index: number): Event[] => {
  const groups = [2 * index, 2 * index + 1];
  return [...admitted(...groups), ...groups.map(ended), ...updated(index, groups), closed(index + 1, groups)];
};

describe("a run's state", () => {
  it("follows from its events", () => {
    const state = stateAfter([...window(0), ...admitted(2, 3), ended(2)]);
    expect(state).toMatchObject({ step: 1, trainedTokens: 10, seconds: 1, seeds: { next: 4, returned: [] } });
    expect(state.position).toEqual({
      admitted: 4,
      consumed: 1,
      judged: 1,
      asked: null,
      version: 1,
      adopted: 0,
      stopped: false,
      fixedLag: null,
    });
    expect(HashMap.size(state.outstanding)).toBe(2);
    expect(HashMap.toEntries(state.ledger.inFlight)).toEqual([
      [2, 5],
      [3, 0],
    ]);
  });

  it("counts empty selections in a row, and any update ends the row", () => {
    const empty = (consecutive: number): Event => ({ _tag: "EmptySelection", window: consecutive, consecutive });
    expect(stateAfter([empty(1), empty(2)]).emptyInARow).toBe(2);
    expect(stateAfter([empty(1), empty(2), ...updated(3, [])]).emptyInARow).toBe(0);
    expect(stateAfter([empty(1), { _tag: "UpdateSkipped", window: 2, groups: [], reason: "" }]).emptyInARow).toBe(0);
  });

  it("counts skipped updates in a row, over windows with nothing to train, and any other update ends the row", () => {
    const skipped = (window: number): Event => ({
      _tag: "UpdateSkipped",
      window,
      groups: [],
      reason: "",
      notFinite: "the policy's loss",
    });
    const half: Event = {
      _tag: "Updated",
      window: 4,
      groups: [],
      version: 1,
      tokens: 1,
      notFinite: "the critic's loss",
    };
    const untold: Event = { _tag: "UpdateSkipped", window: 3, groups: [], reason: "nothing was sampled" };
    const row = [skipped(1), { _tag: "EmptySelection", window: 2, consecutive: 1 } as const, untold, half];
    expect(stateAfter(row).skipped).toEqual({ since: 2, count: 2 });
    expect(stateAfter([...row, ...updated(5, [])]).skipped).toBeNull();
    const cut = RunState.toCheckpoint(stateAfter(row), 2);
    expect(Effect.runSync(Effect.flatMap(RunState.encode(cut), RunState.decode)).skipped).toEqual({
      since: 2,
      count: 2,
    });
  });

  it("of a checkpoint from before refills and early stops has none of them", () => {
    const state = stateAfter(window(0));
    const { seen: _, ...written } = JSON.parse(Effect.runSync(RunState.encode(state)));
    const { judged: __, asked: ___, ...position } = written.position;
    const { refills: ____, ...seeds } = written.seeds;
    const decoded = Effect.runSync(RunState.decode(JSON.stringify({ ...written, schema: 2, position, seeds })));
    expect(decoded).toEqual({ ...state, position: { ...state.position, judged: 0 } });
  });

  it("holds the groups that refills asked for with their window, and counts them for no other", () => {
    const numbers = { perRound: 1, perWindow: 3 };
    const group = SeedSchedule.refillGroup(SeedSchedule.initial, numbers, { window: 0, round: 1, place: 0 });
    const admission: Event = { _tag: "Admitted", group, window: 0, refill: 1 };
    const refill: Event = { _tag: "Refill", window: 0, round: 1, groups: 1, reason: "" };
    const state = stateAfter([...admitted(0, 1), ...[0, 1].map(ended), refill, admission, ended(group)]);
    expect(RunState.windowOf(state, group)).toBe(0);
    expect(() => RunState.windowOf(state, 3)).toThrow("group 3 is not outstanding");
    const all = [0, 1, group];
    const closedState = stateAfter([...updated(0, all), closed(1, all)], state);
    expect([closedState.position.admitted, closedState.seeds]).toEqual([2, { ...SeedSchedule.initial, next: 2 }]);
    const { refills } = RunState.toCheckpoint(closedState, 2, numbers).seeds;
    expect(refills).toEqual({ window: 1, number: SeedSchedule.firstRefillNumber + 3 });
  });

  it("of a checkpoint that does not count skipped updates has none", () => {
    const { skipped: _, ...written } = JSON.parse(Effect.runSync(RunState.encode(stateAfter(window(0)))));
    expect(Effect.runSync(RunState.decode(JSON.stringify(written)))).toEqual(stateAfter(window(0)));
  });

  it("remembers a postponed validation until it is played", () => {
    const due = stateAfter([{ _tag: "ValidationPostponed", step: 4 }]);
    expect(due.validationDue).toBe(true);
    expect(stateAfter([{ _tag: "Validated", step: 5, success: 1 }], due)).toMatchObject({
      validationDue: false,
      validations: 1,
    });
  });

  it("remembers a validation that was asked for while the starting weights were validated", () => {
    const due = stateAfter([{ _tag: "ValidationPostponed", step: 0 }]);
    expect(stateAfter([{ _tag: "Validated", step: 0, success: 1 }], due).validationDue).toBe(true);
  });

  it("keeps the first reason to stop through its deadline", () => {
    const stopped = stateAfter([
      { _tag: "Stopped", reason: "stopped" },
      { _tag: "Stopped", reason: "deadline" },
    ]);
    expect([stopped.reason, stopped.position.stopped]).toEqual(["stopped", true]);
  });

  it("that is stopped from outside still finishes the windows whose groups are all admitted", () => {
    const state = stateAfter([...window(0), ...admitted(2, 3, 4, 5, 6)]);
    expect(RunState.stopEvent(state, 2)).toEqual({ _tag: "Stopped", reason: "stopped", steps: 2 });
    expect(RunState.stopEvent(stateAfter(admitted(0)), 2).steps).toBe(0);
  });

  it("cut at a step boundary drops what is in flight and gives back the seeds of open windows", () => {
    const state = stateAfter([...window(0), ...admitted(2, 3, 4), ended(2), { _tag: "Stopped", reason: "stopped" }]);
    const cut = RunState.toCheckpoint(state, 2);
    expect(cut.seeds).toEqual({ ...SeedSchedule.initial, next: 5, returned: [2, 3, 4] });
    expect(cut.position).toEqual({
      admitted: 2,
      consumed: 1,
      judged: 1,
      asked: null,
      version: 1,
      adopted: 1,
      stopped: false,
      fixedLag: null,
    });
    expect(cut.ledger.groups).toEqual({ admitted: 5, trained: 2, filtered: 0, failed: 0, dropped: 3 });
    expect([cut.reason, HashMap.size(cut.outstanding), HashMap.size(cut.ledger.inFlight)]).toEqual(["complete", 0, 0]);
    expect(Ledger.checkBalance(cut.ledger)._tag).toBe("Success");
  });

  const cutState = RunState.toCheckpoint(stateAfter([...window(0), ...window(1), ...admitted(4)]), 2);
  const encoded = (): Record<string, unknown> => JSON.parse(Effect.runSync(RunState.encode(cutState)));
  const faultOf = (change: (json: Record<string, never>) => unknown): string => {
    const json = structuredClone(encoded()) as Record<string, never>;
    const text = JSON.stringify({ ...json, ...(change(json) as object) });
    return Effect.runSync(Effect.flip(RunState.decode(text))).message;
  };

  const impossible: readonly (readonly [string, (json: Record<string, Record<string, object>>) => object, string])[] = [
    ["a negative step", () => ({ step: -1 }), "step"],
    ["half a step", () => ({ step: 1.5 }), "step"],
    ["a step beyond all bounds", () => ({ step: 1e300 }), "step"],
    ["negative seconds", () => ({ seconds: -1 }), "seconds"],
    ["a negative version", ({ position }) => ({ position: { ...position, version: -2 } }), "version"],
    ["negative tokens", () => ({ trainedTokens: -5 }), "trainedTokens"],
    [
      "an unbalanced ledger",
      ({ ledger }) => ({ ledger: { ...ledger, groups: { ...ledger!.groups, trained: 9 } } }),
      "groups do not balance: 5 admitted, 10 accounted",
    ],
    [
      "tokens that are missing",
      ({ ledger }) => ({ ledger: { ...ledger, tokens: { ...ledger!.tokens, admitted: 1_000 } } }),
      "tokens do not balance",
    ],
    [
      "seeds given back that were never issued",
      () => ({ seeds: { next: 5, returned: [4, 5] } }),
      "ascending numbers below 5",
    ],
    ["a seed given back twice", () => ({ seeds: { next: 5, returned: [4, 4] } }), "ascending numbers below 5"],
    [
      "a first number of refills that is one of windows' own groups",
      ({ seeds }) => ({ seeds: { ...seeds, refills: { window: 0, number: 7 } } }),
      "Number 7 is not the first for refills",
    ],
    [
      "a first number of refills of a window that is still to come",
      ({ seeds }) => ({ seeds: { ...seeds, refills: { window: 9, number: SeedSchedule.firstRefillNumber } } }),
      "for refills of window 9 in a run of 2 steps",
    ],
    ["another schema", () => ({ schema: 7 }), "schema"],
  ];
  it.each(impossible)("is not decoded with %s", (_, change, message) => {
    expect(faultOf(change as never)).toContain(message);
  });

  it("of a checkpoint is one that cut gives, with steps, windows and versions that fit each other", () => {
    expect(RunState.checkpointProblem(cutState)).toBe(undefined);
    expect(RunState.checkpointProblem(RunState.toCheckpoint(RunState.initial, 2))).toBe(undefined);
    expect(RunState.checkpointProblem(stateAfter([...window(0), ...admitted(2)]))).toContain("in flight");
    const { position } = cutState;
    const wrong: readonly (readonly [Partial<RunState.RunState>, string])[] = [
      [{ position: { ...position, consumed: 1 } }, "1 windows in 2 steps"],
      [{ position: { ...position, version: 3, adopted: 3 } }, "3 updates"],
      [{ position: { ...position, adopted: 1 } }, "generators are at version 1"],
      [{ emptyInARow: 3 }, "3 empty selections"],
      [{ position: { ...position, admitted: 900 } }, "consumed 900 groups, and admitted 5"],
    ];
    for (const [change, message] of wrong)
      expect(RunState.checkpointProblem({ ...cutState, ...change })).toContain(message);
  });

  it("comes back from its encoding as it was, whatever happened before", () => {
    assertProperty(
      fc.property(fc.nat(6), fc.nat(5), (windows, ahead) => {
        const groups = Array.from({ length: ahead }, (_, i) => 2 * windows + i);
        const state = stateAfter([
          ...Array.from({ length: windows }, (_, i) => window(i)).flat(),
          ...admitted(...groups),
        ]);
        const text = Effect.runSync(RunState.encode(state));
        expect(Effect.runSync(RunState.encode(Effect.runSync(RunState.decode(text))))).toBe(text);
        expect(Effect.runSync(RunState.decode(text))).toEqual(state);
      }),
    );
  });
});
