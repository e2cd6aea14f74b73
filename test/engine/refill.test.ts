import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../build/config.ts";
import {
  alike,
  eventsOf,
  type Fates,
  inFolder,
  mixed,
  newest,
  type Observed,
  observed,
  resume,
  stopOn,
  train,
} from "./fakes.ts";

/** Groups whose number is in `dull` have no variance, those in `dead` fail. */
const fatesOf =
  (dull: readonly number[], dead: readonly number[] = []): Fates =>
  (group, member) => {
    if (dead.includes(group)) return { turns: 1, end: "crash", replyMs: 1 };
    return (dull.includes(group) ? alike : mixed)(group, member);
  };

const refilling = (refill: Tree = {}, rest: Tree = {}) =>
  reachConfig({ filter: { include_zero: false, refill: { target: 2, ...refill } }, ...rest });

/** Groups of each update, in order. */
const updates = ({ events }: Pick<Observed, "events">) => eventsOf(events, "Updated").map(({ groups }) => groups);
const refills = ({ events }: Pick<Observed, "events">) =>
  eventsOf(events, "Refill").map(({ groups, round, window }) => ({ window, round, groups }));

describe("a run with refills", () => {
  it.live("trains on the target in every window, with the next groups of the schedule", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling(), fates: fatesOf([1, 2, 5]) });
      expect(updates(run)).toEqual([
        [0, 3],
        [4, 6],
        [7, 8],
        [9, 10],
      ]);
      expect(refills(run)).toEqual([
        { window: 0, round: 1, groups: 1 },
        { window: 0, round: 2, groups: 1 },
        { window: 1, round: 1, groups: 1 },
      ]);
      expect(eventsOf(run.events, "Refill")[0]?.reason).toBe("the filter kept 1 of 2 groups, 1 short of 2");
      expect(eventsOf(run.events, "Admitted").filter(({ refill }) => refill !== undefined)).toMatchObject([
        { group: 2, window: 0, refill: 1 },
        { group: 3, window: 0, refill: 2 },
        { group: 6, window: 1, refill: 1 },
      ]);
      expect(toRecord(run.records[0]!.metrics)).toMatchObject({
        "train/rollout_attempts": 3,
        "rollout/refill_groups": 2,
        "rollout/filter_kept_ratio": 0.5,
        "ledger/trained": 2,
        "ledger/filtered": 2,
        "drift/trained_success_difference": 0.25,
      });
    }),
  );

  it.live("judges each window once, and closes it with all of its groups", () =>
    Effect.gen(function* () {
      const { events } = yield* observed({ config: refilling(), fates: fatesOf([1, 2, 5]) });
      expect(eventsOf(events, "Verdict").map(({ window }) => window)).toEqual([0, 1, 2, 3]);
      expect(eventsOf(events, "Verdict")[0]).toMatchObject({ kept: [0, 3], filtered: [1, 2] });
      expect(eventsOf(events, "StepClosed")[0]).toMatchObject({ groups: [0, 1, 2, 3], refilled: 2 });
      expect(eventsOf(events, "Windowed").map(({ groups }) => groups.length)).toEqual([2, 3, 4, 2, 3, 2, 2]);
    }),
  );

  it.live("trains on what is there once it has asked often enough", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling({ rounds: 1 }), fates: fatesOf([1, 2, 3, 4, 5, 6]) });
      expect(updates(run)).toEqual([[0], [7, 8], [9, 10]]);
      expect(eventsOf(run.events, "EmptySelection")).toMatchObject([{ window: 1 }]);
    }),
  );

  it.live("replaces groups that failed", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling(), fates: fatesOf([], [0, 2]) });
      expect(updates(run)[0]).toEqual([1, 3]);
      expect(eventsOf(run.events, "StepClosed")[0]?.groups).toEqual([1, 3, 0, 2]);
    }),
  );

  it.live("leaves the surplus of a batch", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling({ batch: 3 }), fates: fatesOf([1]) });
      expect(updates(run)[0]).toEqual([0, 2]);
      expect(eventsOf(run.events, "Verdict")[0]?.judged.map(({ verdict }) => verdict)).toEqual([
        "kept",
        "zero",
        "kept",
        "surplus",
        "surplus",
      ]);
    }),
  );

  it.live("keeps async windows in order, and the next ones waiting for a verdict only", () =>
    Effect.gen(function* () {
      const config = refilling({}, { pipeline: { mode: "async", max_staleness: 2 } });
      // Window 0 holds 0 and 1, windows 1 and 2 are admitted with it; the refill of window 0 plays 6.
      const slow: Fates = (group, member) => ({ ...fatesOf([1])(group, member), replyMs: group === 6 ? 50 : 1 });
      const run = yield* observed({ config, fates: slow });
      expect(updates(run)).toEqual([
        [0, 6],
        [2, 3],
        [4, 5],
        [7, 8],
      ]);
      const order = run.events.flatMap((event) =>
        event._tag === "Verdict" || event._tag === "Refill" ? [[event._tag, event.window]] : [],
      );
      expect(order.slice(0, 4)).toEqual([
        ["Refill", 0],
        ["Verdict", 0],
        ["Verdict", 1],
        ["Verdict", 2],
      ]);
    }),
  );

  it.live("plays what a window asked for before others that wait for a slot", () =>
    Effect.gen(function* () {
      const config = refilling({}, { pipeline: { mode: "async", max_staleness: 3 }, generation: { slots: 2 } });
      const run = yield* observed({ config, fates: fatesOf([1]) });
      // Windows 1 to 3 hold 2 to 7, which were admitted before 8 was asked for.
      const playOrder = [...new Set(run.replies.map(({ group }) => group))];
      expect(playOrder.indexOf(8)).toBeLessThan(playOrder.indexOf(6));
      expect(updates(run)[0]).toEqual([0, 8]);
    }),
  );

  it.live("takes the next to finish in completion order", () =>
    Effect.gen(function* () {
      const config = refilling({}, { pipeline: { mode: "async", max_staleness: 1, window_order: "completion" } });
      const slow: Fates = (group, member) => ({ ...fatesOf([1])(group, member), replyMs: group === 2 ? 300 : 1 });
      const run = yield* observed({ config, fates: slow });
      expect(updates(run)).toHaveLength(4);
      expect(updates(run).flat()).toHaveLength(8);
      expect(updates(run)[0]).not.toContain(2);
    }),
  );

  it.live("plays the groups of a refill turn by turn in lockstep", () =>
    Effect.gen(function* () {
      const config = refilling({ batch: 2 }, { pipeline: { mode: "lockstep" } });
      const turns: Fates = (group, member) => ({
        ...fatesOf([1, 4])(group, member),
        turns: 1 + ((group + member) % 3),
      });
      const run = yield* observed({ config, fates: turns });
      expect(updates(run)).toHaveLength(4);
      const ofRefill = run.replies.filter(({ group }) => group === 2 || group === 3);
      const secondTurns = ofRefill.filter(({ turn }) => turn === 1).map(({ requestedAt }) => requestedAt);
      const firstTurns = ofRefill.filter(({ turn }) => turn === 0).map(({ servedAt }) => servedAt);
      expect(Math.min(...secondTurns)).toBeGreaterThanOrEqual(Math.max(...firstTurns));
    }),
  );

  it.live("gives a window that is whole what it asks for, also when a stop drains the run", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const onEvent = stopOn("Windowed");
        const run = yield* train({ config: refilling(), fates: fatesOf([1, 2]), folder, onEvent });
        expect(updates(run)).toEqual([[0, 3]]);
        expect(run.ended).toMatchObject({ step: 1, reason: "stopped" });
      }),
    ),
  );

  it.live(
    "drops a half-filled window at the stop's deadline, and the run that resumes plays it again, bit for bit",
    () =>
      Effect.gen(function* () {
        const config = refilling({}, { pipeline: { mode: "sync", stop_deadline_ms: 5 } });
        const fates = fatesOf([1, 2, 5, 6, 9]);
        const slow: Fates = (group, member) => ({ ...fates(group, member), replyMs: group === 7 ? 500 : 1 });
        const onEvent = stopOn("Admitted", ({ group }) => group === 7);
        const { first, second, state } = yield* inFolder(
          Effect.fnUntraced(function* (folder) {
            const first = yield* train({ config, fates: slow, folder, onEvent });
            const { state } = yield* newest(folder);
            return { first, state, second: yield* resume({ config, fates, folder }) };
          }),
        );
        const whole = yield* observed({ config, fates });
        expect(first.ended.step).toBe(1);
        expect(state.seeds).toEqual({ next: 8, returned: [4, 5, 6, 7] });
        expect([...updates(first), ...updates(second)]).toEqual(updates(whole));
        expect([...first.batches, ...second.batches].map(({ groups, ids }) => ({ groups, ids }))).toEqual(
          whole.batches.map(({ groups, ids }) => ({ groups, ids })),
        );
      }),
  );
});
