import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { initial, refillGroup } from "../../src/domain/SeedSchedule.ts";
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

/** The number of a group that a window of two groups asked for, under `filter.refill` as it is by default. */
const refillNumber = (window: number, round = 1, place = 0): number =>
  refillGroup(initial, { perRound: 2, perWindow: 7 }, { window, round, place });

const refilling = (refill: Tree = {}, rest: Tree = {}) =>
  reachConfig({ filter: { include_zero: false, refill: { target: 2, ...refill } }, ...rest });

/** Groups of each update, in order. */
const updates = ({ events }: Pick<Observed, "events">) => eventsOf(events, "Updated").map(({ groups }) => groups);
const refills = ({ events }: Pick<Observed, "events">) =>
  eventsOf(events, "Refill").map(({ groups, round, window }) => ({ window, round, groups }));

describe("a run with refills", () => {
  it.live("trains on the target in every window, with groups whose numbers follow from their places", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling(), fates: fatesOf([1, 3, refillNumber(0)]) });
      expect(updates(run)).toEqual([
        [0, refillNumber(0, 2)],
        [2, refillNumber(1)],
        [4, 5],
        [6, 7],
      ]);
      expect(refills(run)).toEqual([
        { window: 0, round: 1, groups: 1 },
        { window: 0, round: 2, groups: 1 },
        { window: 1, round: 1, groups: 1 },
      ]);
      expect(eventsOf(run.events, "Refill")[0]?.reason).toBe("the filter kept 1 of 2 groups, 1 short of 2");
      expect(eventsOf(run.events, "Admitted").filter(({ refill }) => refill !== undefined)).toMatchObject([
        { group: refillNumber(0), window: 0, refill: 1 },
        { group: refillNumber(0, 2), window: 0, refill: 2 },
        { group: refillNumber(1), window: 1, refill: 1 },
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
      const { events } = yield* observed({ config: refilling(), fates: fatesOf([1, 3, refillNumber(0)]) });
      expect(eventsOf(events, "Verdict").map(({ window }) => window)).toEqual([0, 1, 2, 3]);
      expect(eventsOf(events, "Verdict")[0]).toMatchObject({
        kept: [0, refillNumber(0, 2)],
        filtered: [1, refillNumber(0)],
      });
      expect(eventsOf(events, "StepClosed")[0]).toMatchObject({
        groups: [0, 1, refillNumber(0), refillNumber(0, 2)],
        refilled: 2,
      });
      expect(eventsOf(events, "Windowed").map(({ groups }) => groups.length)).toEqual([2, 3, 4, 2, 3, 2, 2]);
    }),
  );

  it.live("trains on what is there once it has asked often enough", () =>
    Effect.gen(function* () {
      // With one round each window has three numbers of refills.
      const [first, second] = [refillNumber(0), refillNumber(0) + 3];
      const run = yield* observed({
        config: refilling({ rounds: 1 }),
        fates: fatesOf([1, first, 2, 3, second, second + 1]),
      });
      expect(updates(run)).toEqual([[0], [4, 5], [6, 7]]);
      expect(eventsOf(run.events, "EmptySelection")).toMatchObject([{ window: 1 }]);
    }),
  );

  it.live("replaces groups that failed", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling(), fates: fatesOf([], [0, refillNumber(0)]) });
      expect(updates(run)[0]).toEqual([1, refillNumber(0, 2)]);
      expect(eventsOf(run.events, "StepClosed")[0]?.groups).toEqual([1, refillNumber(0, 2), 0, refillNumber(0)]);
    }),
  );

  it.live("leaves the surplus of a batch", () =>
    Effect.gen(function* () {
      const run = yield* observed({ config: refilling({ batch: 3 }), fates: fatesOf([1]) });
      expect(updates(run)[0]).toEqual([0, refillNumber(0)]);
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
      // Window 0 holds 0 and 1, windows 1 and 2 are admitted with it.
      const slow: Fates = (group, member) => ({
        ...fatesOf([1])(group, member),
        replyMs: group === refillNumber(0) ? 50 : 1,
      });
      const run = yield* observed({ config, fates: slow });
      expect(updates(run)).toEqual([
        [0, refillNumber(0)],
        [2, 3],
        [4, 5],
        [6, 7],
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
      // Windows 1 to 3 hold 2 to 7, which were admitted before the refill was asked for.
      const playOrder = [...new Set(run.replies.map(({ group }) => group))];
      expect(playOrder.indexOf(refillNumber(0))).toBeLessThan(playOrder.indexOf(6));
      expect(updates(run)[0]).toEqual([0, refillNumber(0)]);
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
        ...fatesOf([1, 2])(group, member),
        turns: 1 + ((group + member) % 3),
      });
      const run = yield* observed({ config, fates: turns });
      expect(updates(run)).toHaveLength(4);
      const ofRefill = run.replies.filter(({ group }) => group === refillNumber(0) || group === refillNumber(0, 1, 1));
      const secondTurns = ofRefill.filter(({ turn }) => turn === 1).map(({ requestedAt }) => requestedAt);
      const firstTurns = ofRefill.filter(({ turn }) => turn === 0).map(({ servedAt }) => servedAt);
      expect(Math.min(...secondTurns)).toBeGreaterThanOrEqual(Math.max(...firstTurns));
    }),
  );

  it.live("gives a window that is whole what it asks for, also when a stop drains the run", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const onEvent = stopOn("Windowed");
        const run = yield* train({ config: refilling(), fates: fatesOf([1, refillNumber(0)]), folder, onEvent });
        expect(updates(run)).toEqual([[0, refillNumber(0, 2)]]);
        expect(run.ended).toMatchObject({ step: 1, reason: "stopped" });
      }),
    ),
  );

  it.live(
    "drops a half-filled window at the stop's deadline, and the run that resumes plays it again, bit for bit",
    () =>
      Effect.gen(function* () {
        const config = refilling({}, { pipeline: { mode: "sync", stop_deadline_ms: 5 } });
        const fates = fatesOf([1, refillNumber(0), 3, refillNumber(1), 5]);
        const late = refillNumber(1, 2);
        const slow: Fates = (group, member) => ({ ...fates(group, member), replyMs: group === late ? 500 : 1 });
        const onEvent = stopOn("Admitted", ({ group }) => group === late);
        const { first, second, state } = yield* inFolder(
          Effect.fnUntraced(function* (folder) {
            const first = yield* train({ config, fates: slow, folder, onEvent });
            const { state } = yield* newest(folder);
            return { first, state, second: yield* resume({ config, fates, folder }) };
          }),
        );
        const whole = yield* observed({ config, fates });
        expect(first.ended.step).toBe(1);
        expect(state.seeds).toEqual({ next: 4, returned: [2, 3], refills: { window: 1, number: refillNumber(1) } });
        expect([...updates(first), ...updates(second)]).toEqual(updates(whole));
        expect([...first.batches, ...second.batches].map(({ groups, ids }) => ({ groups, ids }))).toEqual(
          whole.batches.map(({ groups, ids }) => ({ groups, ids })),
        );
      }),
  );

  it.live("gives refills the same numbers at any speed, and in a run that goes on after a stop", () =>
    Effect.gen(function* () {
      const config = refilling(
        {},
        {
          pipeline: { mode: "async", max_staleness: 2, stop_deadline_ms: 5 },
          trainer: { total_training_steps: 6, save_freq: 1 },
        },
      );
      const dull: Fates = (group, member) => (group % 3 === 1 ? alike : mixed)(group, member);
      const speeds: readonly Fates[] = [
        dull,
        (group, member) => ({ ...dull(group, member), replyMs: 1 + ((group * 7) % 23) }),
        (group, member) => ({ ...dull(group, member), replyMs: group % 4 === 0 ? 40 : 2 }),
      ];
      const windowsOf = ({ events }: Pick<Observed, "events">) =>
        eventsOf(events, "Admitted").map(({ group, refill = 0, window }) => `${window} ${refill} ${group}`);
      const [first, ...others] = yield* Effect.forEach(speeds, (fates) => observed({ config, fates }));
      expect(refills(first!).length).toBeGreaterThan(1);
      for (const other of others) expect(windowsOf(other).sort()).toEqual(windowsOf(first!).sort());
      for (const stopAt of [1, 3]) {
        const lives = yield* inFolder(
          Effect.fnUntraced(function* (folder) {
            const onEvent = stopOn("StepClosed", ({ step }) => step === stopAt);
            const before = yield* train({ config, fates: speeds[2]!, folder, onEvent });
            return [before, yield* resume({ config, fates: speeds[1]!, folder })];
          }),
        );
        expect(new Set(lives.flatMap(windowsOf))).toEqual(new Set(windowsOf(first!)));
      }
    }),
  );
});
