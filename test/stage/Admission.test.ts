import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Group } from "../../src/domain/Group.ts";
import * as Admission from "../../src/stage/Admission.ts";
import * as WindowAssembler from "../../src/stage/WindowAssembler.ts";

const rules = (mode: Admission.Rules["mode"], maxStaleness = 2, groups = 3, windows = 10): Admission.Rules => ({
  mode,
  groups,
  maxStaleness,
  windows,
});

/** Admits as many groups as the state allows. */
const fill = (start: Admission.Admission): { state: Admission.Admission; windows: number[] } => {
  let state = start;
  const windows: number[] = [];
  for (let decision = Admission.decide(state); decision._tag === "Admit"; decision = Admission.decide(state)) {
    windows.push(decision.window);
    state = Admission.observe(state, { _tag: "Admitted", group: state.admitted, window: decision.window });
  }
  return { state, windows };
};

const updated = (window: number, version = window + 1) => ({ _tag: "Updated", window, groups: [], version }) as const;

describe("admission", () => {
  it("async admits the window being consumed and max_staleness more", () => {
    const first = fill(Admission.start(rules("async")));
    expect(first.windows).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2]);
    expect(Admission.decide(first.state)).toEqual({ _tag: "Wait", window: 3, consumed: 1, version: 0 });
    expect(fill(Admission.observe(first.state, updated(0))).windows).toEqual([3, 3, 3]);
  });

  it.each(["sync", "lockstep"] as const)("%s admits one window, and the next after its weights are adopted", (mode) => {
    const first = fill(Admission.start(rules(mode)));
    expect(first.windows).toEqual([0, 0, 0]);
    const after = Admission.observe(first.state, updated(0));
    expect(Admission.decide(after)).toEqual({ _tag: "Wait", window: 1, consumed: 1, version: 1 });
    expect(fill(Admission.observe(after, { _tag: "WeightsAdopted", version: 1 })).windows).toEqual([1, 1, 1]);
  });

  it("async with a bound of 0 is sync", () => {
    const first = fill(Admission.start(rules("async", 0)));
    expect(first.windows).toEqual([0, 0, 0]);
    expect(Admission.decide(Admission.observe(first.state, updated(0)))._tag).toBe("Wait");
  });

  it.each([
    { _tag: "EmptySelection", window: 0, consecutive: 1 },
    { _tag: "UpdateSkipped", window: 0, groups: [], reason: "not finite" },
  ] as const)("reopens after $_tag without a new version", (event) => {
    const first = fill(Admission.start(rules("sync")));
    expect(fill(Admission.observe(first.state, event)).windows).toEqual([1, 1, 1]);
  });

  it("closes after the last window, and at once when stopped", () => {
    const first = fill(Admission.start(rules("async", 2, 3, 2)));
    expect(first.windows).toHaveLength(6);
    expect(Admission.decide(first.state)).toEqual({ _tag: "Closed", reason: "complete" });
    const stopped = Admission.observe(Admission.start(rules("async")), { _tag: "Stopped", reason: "interrupted" });
    expect(Admission.decide(stopped)).toEqual({ _tag: "Closed", reason: "stopped" });
  });

  it("goes on after a resume as if never stopped", () => {
    const resumed = Admission.start(rules("async"), { consumed: 4, version: 4 });
    expect(fill(resumed).windows).toEqual([4, 4, 4, 5, 5, 5, 6, 6, 6]);
  });
});

const finished = (number: number, failed: boolean): Group => {
  const outcome = failed
    ? ({ _tag: "Failed", reason: "step_error", message: "" } as const)
    : ({ _tag: "Done", success: true } as const);
  return {
    prompt: { group: number, tag: "T", seed: number, size: 2, admittedAt: 0 },
    episodes: [0, 1].map((member) => ({
      id: { group: number, member },
      tag: "T",
      seed: number,
      sequences: [],
      outcome,
    })),
  };
};

/** Plays a run whose groups finish in an order drawn from `choices`; gives the staleness of every consumed group. */
const play = (
  spec: Admission.Rules,
  order: WindowAssembler.Order,
  choices: { readonly pick: number; readonly failed: boolean; readonly trained: boolean }[],
) => {
  let admission = Admission.start(spec);
  let assembler = WindowAssembler.start(order, spec.groups);
  const admittedAt = new Map<number, number>();
  const running: number[] = [];
  const stale: number[] = [];
  let version = 0;
  let worstBacklog = 0;
  let ended = 0;
  for (let tick = 0; ; tick++) {
    for (
      let decision = Admission.decide(admission);
      decision._tag === "Admit";
      decision = Admission.decide(admission)
    ) {
      admittedAt.set(admission.admitted, admission.consumed);
      running.push(admission.admitted);
      admission = Admission.observe(admission, {
        _tag: "Admitted",
        group: admission.admitted,
        window: decision.window,
      });
    }
    worstBacklog = Math.max(worstBacklog, admission.admitted - admission.consumed * spec.groups);
    if (running.length === 0) break;
    const choice = choices[tick % choices.length]!;
    const [number] = running.splice(choice.pick % running.length, 1);
    const step = WindowAssembler.observe(assembler, finished(number!, choice.failed));
    assembler = step.state;
    for (const window of step.windows) {
      for (const group of window.groups) stale.push(admission.consumed - admittedAt.get(group.prompt.group)!);
      ended += spec.groups;
      const trains = window.groups.length > 0 && choice.trained;
      admission = Admission.observe(
        admission,
        trains ? updated(window.index, ++version) : { _tag: "EmptySelection", window: window.index, consecutive: 1 },
      );
      if (trains) admission = Admission.observe(admission, { _tag: "WeightsAdopted", version });
    }
  }
  return {
    stale,
    worstBacklog,
    consumed: admission.consumed,
    held: assembler.held.length,
    ended,
    admitted: admission.admitted,
  };
};

const runs = fc.record({
  mode: fc.constantFrom("lockstep" as const, "sync" as const, "async" as const),
  groups: fc.integer({ min: 1, max: 5 }),
  maxStaleness: fc.integer({ min: 0, max: 4 }),
  windows: fc.integer({ min: 1, max: 12 }),
  choices: fc.array(fc.record({ pick: fc.nat(50), failed: fc.boolean(), trained: fc.boolean() }), {
    minLength: 1,
    maxLength: 40,
  }),
});

describe("admission with windows in any order of completion", () => {
  it("consumes every window of the run: no deadlock, nothing left over", () => {
    fc.assert(
      fc.property(runs, fc.constantFrom("admission" as const, "completion" as const), ({ choices, ...spec }, order) => {
        const { consumed, held, ended, admitted } = play(spec, order, choices);
        expect({ consumed, held, ended }).toEqual({ consumed: spec.windows, held: 0, ended: admitted });
      }),
    );
  });

  it("bounds staleness in consumed windows under admission order", () => {
    fc.assert(
      fc.property(runs, ({ choices, ...spec }) => {
        const bound = Admission.lead(spec);
        for (const staleness of play(spec, "admission", choices).stale) {
          expect(staleness).toBeGreaterThanOrEqual(0);
          expect(staleness).toBeLessThanOrEqual(bound);
        }
      }),
    );
  });

  it("bounds the backlog, and by it the mean staleness, under completion order", () => {
    fc.assert(
      fc.property(runs, ({ choices, ...spec }) => {
        const lead = Admission.lead(spec);
        const { stale, worstBacklog } = play(spec, "completion", choices);
        expect(worstBacklog).toBeLessThanOrEqual((lead + 1) * spec.groups);
        const total = stale.reduce((sum, s) => sum + s, 0);
        // Each consumed window ages at most the lead's worth of groups that it does not contain.
        expect(total).toBeLessThanOrEqual(lead * spec.groups * spec.windows);
      }),
    );
  });
});
