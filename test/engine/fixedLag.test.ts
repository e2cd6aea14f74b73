/** A run with a fixed lag over fakes: which version plays which group, whatever takes how long, and how such a run ends by itself. */
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { startingLag } from "../../src/config/fixedLag.ts";
import type { Tree } from "../../src/config/Tree.ts";
import * as RunState from "../../src/domain/RunState.ts";
import { reachConfig } from "../build/config.ts";
import {
  alike,
  eventsOf,
  type Fates,
  inFolder,
  mixed,
  newest,
  type Observed,
  type Options,
  resume,
  train,
} from "./fakes.ts";

const windows = 6;
const lag = 2;

const lagged = (changes: Tree = {}) =>
  reachConfig({
    pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: lag },
    trainer: { total_training_steps: windows, save_freq: 1, test_freq: 2 },
    filter: { include_zero: false, refill: { target: 2, rounds: 2 } },
    ...changes,
  });

/** Milliseconds of a reply, of a step, of an update and of an adoption. */
interface Speed {
  readonly replyMs: (group: number, member: number) => number;
  readonly updateMs: number;
  readonly adoptMs: number;
}

const speeds: readonly Speed[] = [
  { replyMs: () => 1, updateMs: 40, adoptMs: 0 },
  { replyMs: (group, member) => 10 + ((group * 7 + member * 3) % 23), updateMs: 1, adoptMs: 30 },
  { replyMs: (group) => (group % 3 === 0 ? 90 : 2), updateMs: 15, adoptMs: 5 },
];

/** Groups with numbers that these leave over 3 have no variance, so that most windows are refilled. */
const dull: Fates = (group, member) => (group % 3 === 1 ? alike : mixed)(group, member);

const at = ({ adoptMs, replyMs, updateMs }: Speed, fates: Fates) => ({
  updateMs,
  adoptMs,
  fates: ((group, member) => ({ ...fates(group, member), replyMs: replyMs(group, member) })) satisfies Fates,
});

const run = (options: Omit<Options, "folder">) =>
  inFolder((folder) => train({ ...options, folder, resumed: RunState.startUnder(startingLag(options.config)) }));

/** The window of each group, the version that played it, and the groups of each update. */
const factsOf = ({ events, replies }: Pick<Observed, "events" | "replies">) => {
  const admitted = eventsOf(events, "Admitted");
  const trainingReplies = replies.filter(({ validation }) => !validation);
  return {
    windows: admitted.map(({ group, window }) => [group, window]).sort(([a], [b]) => a! - b!),
    updates: eventsOf(events, "Updated").map(({ groups, version }) => ({ groups, version })),
    versions: [...new Set(trainingReplies.map(({ group, version }) => `${group} by ${version}`))].sort(),
    validations: replies
      .filter(({ validation }) => validation)
      .map(({ version }) => version)
      .sort(),
  };
};

describe("a run with a fixed lag", () => {
  it.live("plays and trains on the same at any speed, refills included", () =>
    Effect.gen(function* () {
      const config = lagged();
      const runs = yield* Effect.forEach(speeds, (speed) => run({ config, ...at(speed, dull) }));
      const [first, ...others] = runs.map(factsOf);
      for (const other of others) expect(other).toEqual(first);
      const admissions = runs[0]!.events.flatMap((event) => (event._tag === "Admitted" ? [event] : []));
      expect(admissions.some(({ refill }) => refill !== undefined)).toBe(true);
      // Every update makes a version here, so windows are as many as versions.
      for (const { pin, window } of admissions) expect(pin).toBe(Math.max(0, window - lag));
      for (const { events } of runs) {
        const order = eventsOf(events, "Updated").map(({ window }) => window);
        expect(order).toEqual(Array.from({ length: windows }, (_, window) => window));
      }
    }),
  );

  it.live("keeps the version before for a window whose predecessors made none", () =>
    Effect.gen(function* () {
      // Windows have two groups without refills; windows 0, 1 and 3 are left empty.
      const config = lagged({ filter: { include_zero: false } });
      const fates: Fates = (group, member) =>
        ([0, 1, 3].includes(Math.floor(group / 2)) ? alike : mixed)(group, member);
      const runs = yield* Effect.forEach(speeds, (speed) => run({ config, ...at(speed, fates) }));
      const [first, ...others] = runs.map(factsOf);
      for (const other of others) expect(other).toEqual(first);
      const pins = eventsOf(runs[0]!.events, "Admitted").map(({ pin, window }) => [window, pin]);
      expect(new Map(pins as [number, number][])).toEqual(
        new Map([
          [0, 0],
          [1, 0],
          [2, 0],
          [3, 0],
          [4, 0],
          [5, 1],
        ]),
      );
    }),
  );

  it.live("ends by itself after the same window at any speed", () =>
    Effect.gen(function* () {
      const config = lagged({
        filter: { include_zero: false },
        trainer: { total_training_steps: 20, empty_stop_steps: 2, val_at_end: true, save_freq: 0, test_freq: 0 },
      });
      const fates: Fates = (group, member) => ([3, 4].includes(Math.floor(group / 2)) ? alike : mixed)(group, member);
      const runs = yield* Effect.forEach(speeds, (speed) => run({ config, ...at(speed, fates) }));
      for (const { ended, events } of runs) {
        expect(ended).toMatchObject({ step: 5, version: 3, reason: "empty_selections" });
        expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([5]);
      }
    }),
  );

  it.live("goes on from a checkpoint with the groups and versions of a run that was never stopped", () =>
    Effect.gen(function* () {
      const config = lagged();
      const whole = factsOf(yield* run({ config, ...at(speeds[0]!, dull) }));
      for (const stopAt of [1, 3]) {
        const { before, after, state } = yield* inFolder((folder) =>
          Effect.gen(function* () {
            const resumed = RunState.startUnder(startingLag(config));
            const onEvent: Options["onEvent"] = (event, stop) => {
              if (event._tag === "StepClosed" && event.step === stopAt) stop();
            };
            const before = yield* train({ config, folder, resumed, onEvent, ...at(speeds[1]!, dull) });
            const { state } = yield* newest(folder);
            return { before, state, after: yield* resume({ config, folder, ...at(speeds[2]!, dull) }) };
          }),
        );
        expect(state.step).toBeLessThan(windows);
        const updates = [...factsOf(before).updates, ...factsOf(after).updates];
        expect(updates).toEqual(whole.updates);
        const versions = new Set([...factsOf(before).versions, ...factsOf(after).versions]);
        expect([...versions].sort()).toEqual(whole.versions);
      }
    }),
  );
});
