import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { LearnerError, PolicyError } from "../../src/domain/Errors.ts";
import type { Event } from "../../src/domain/Event.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { noticeText } from "../../src/observe/sinks/View.ts";
import { reachConfig } from "../build/config.ts";
import {
  alike,
  dropAlike,
  eventsOf,
  type Fates,
  inFolder,
  mixed,
  newest,
  observed,
  resume,
  stopOn,
  train,
} from "./fakes.ts";

const crash: Fates = () => ({ turns: 1, end: "crash", replyMs: 1 });
/** The fates of the groups of some windows (of 2 groups), the others mixed. */
const inWindows =
  (windows: readonly number[], fates: Fates): Fates =>
  (group, member) =>
    (windows.includes(Math.floor(group / 2)) ? fates : mixed)(group, member);

const modes = ["lockstep", "sync", "async"] as const;
const inMode = (mode: (typeof modes)[number], trainer: Tree = {}) =>
  reachConfig({ pipeline: { mode }, filter: dropAlike, trainer });

describe.each(modes)("an empty selection in %s", (mode) => {
  it.live("skips the update, is counted, and the run goes on", () =>
    Effect.gen(function* () {
      const { ended, events, records, batches, ledger } = yield* observed({
        config: inMode(mode),
        fates: inWindows([1, 2], alike),
      });
      expect(ended).toMatchObject({ step: 4, version: 2, reason: "complete" });
      expect(eventsOf(events, "EmptySelection").map(({ window, consecutive }) => [window, consecutive])).toEqual([
        [1, 1],
        [2, 2],
      ]);
      expect(batches.map(({ window }) => window)).toEqual([0, 3]);
      expect(
        records.map(({ metrics }) => [
          toRecord(metrics)["rollout/empty_after_filter"],
          toRecord(metrics)["rollout/consecutive_empty_after_filter_steps"],
          toRecord(metrics)["weights/version"],
        ]),
      ).toEqual([
        [0, 0, 1],
        [1, 1, 1],
        [1, 2, 1],
        [0, 0, 2],
      ]);
      expect(ledger.groups).toMatchObject({ admitted: 8, trained: 4, filtered: 4 });
    }),
  );

  it.live("stops the run after trainer.empty_stop_steps of them in a row, with a checkpoint", () =>
    Effect.gen(function* () {
      const { ended, events, ledger } = yield* observed({
        config: inMode(mode, { empty_stop_steps: 2, total_training_steps: 20 }),
        // The windows that are in flight when it stops are empty, too, and no second stop.
        fates: inWindows([1, 3, 4, 5, 6, 7, 8, 9], alike),
      });
      expect(ended.reason).toBe("empty_selections");
      expect(ended.checkpoint).toContain(`step-${ended.step}`);
      // Windows 3 and 4 are the first two in a row; with no lead nothing is admitted after them.
      if (mode === "async") expect(ended.step).toBeGreaterThanOrEqual(5);
      else expect(ended.step).toBe(5);
      expect(eventsOf(events, "Stopped")).toHaveLength(1);
      expect(ledger.groups.admitted).toBeLessThan(40);
    }),
  );

  it.live("never stops a run whose trainer.empty_stop_steps is 0", () =>
    Effect.gen(function* () {
      const { ended, batches } = yield* observed({ config: inMode(mode, { total_training_steps: 7 }), fates: alike });
      expect(ended).toMatchObject({ step: 7, version: 0, reason: "complete" });
      expect(batches).toEqual([]);
    }),
  );
});

describe("weights that are no longer numbers", () => {
  const last = /; the last good checkpoint is .*step-[12]$/;

  it.live("fail the run by the generators with the last good checkpoint", () =>
    Effect.gen(function* () {
      const error = new PolicyError({ reason: "not_finite", message: "the policy's logits are not finite" });
      const failure = yield* Effect.flip(
        observed({ config: inMode("sync", { save_freq: 1 }), failReply: ({ group }) => (group > 3 ? error : null) }),
      );
      expect(failure).toMatchObject({ _tag: "PolicyError", reason: "not_finite" });
      expect(failure.message).toMatch(/^the policy's logits are not finite; lower the learning rate \(actor.lr\); /);
      expect(failure.message).toMatch(last);
    }),
  );

  it.live("are not saved: the run fails and keeps the checkpoint before", () =>
    Effect.gen(function* () {
      const error = new LearnerError({ reason: "not_finite", message: "the weights are not saved" });
      const failure = yield* Effect.flip(
        observed({ config: inMode("sync", { save_freq: 1 }), failSave: (save) => (save === 2 ? error : null) }),
      );
      expect(failure).toMatchObject({ _tag: "LearnerError", reason: "not_finite" });
      expect(failure.message).toMatch(last);
    }),
  );

  it.live("leave the checkpoint before where the last skipped update cannot be saved either", () =>
    Effect.gen(function* () {
      const error = new LearnerError({ reason: "not_finite", message: "the weights are not saved" });
      const failure = yield* Effect.flip(
        observed({
          config: inMode("sync", { save_freq: 1, max_skipped_updates: 1, total_training_steps: 9 }),
          notFinite: (update) => update === 2,
          failSave: (save) => (save === 2 ? error : null),
        }),
      );
      expect(failure.message).toMatch(/^1 update in a row, from step 2 on, could not be applied/);
      expect(failure.message).toMatch(last);
    }),
  );
});

describe("a run that failed of skipped updates", () => {
  it.live("counts on when it is resumed, and goes on where the next update is applied", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const config = inMode("sync", { max_skipped_updates: 3, total_training_steps: 9 });
        const stopping = { config, folder, notFinite: () => true };
        yield* train({
          ...stopping,
          onEvent: stopOn("StepClosed", ({ step }) => step === 1),
        });
        const stopped = (yield* newest(folder)).state;
        expect([stopped.step, stopped.skipped]).toEqual([2, { since: 1, count: 2 }]);

        const failure = yield* Effect.flip(resume(stopping));
        expect(failure.message).toContain("3 updates in a row, from step 1 on,");
        expect((yield* newest(folder)).state.step).toBe(3);

        const { ended } = yield* resume({ config, folder });
        expect(ended).toMatchObject({ step: 9, version: 6, reason: "complete" });
        expect((yield* newest(folder)).state.skipped).toBeNull();
      }),
    ),
  );
});

describe.each(modes)("failures in %s", (mode) => {
  it.live("leave a failed episode out of its group's statistics and loss", () =>
    Effect.gen(function* () {
      const config = reachConfig({ pipeline: { mode }, es_manager: { train: { group_size: 3 } } });
      const fates: Fates = (group, member) => (member === 1 ? crash(group, member) : mixed(group, member));
      const { batches, records, ledger } = yield* observed({ config, fates });
      expect(batches.map(({ members }) => Array.from(members))).toEqual(Array(4).fill([0, 2, 0, 2]));
      expect(records.map(({ metrics }) => toRecord(metrics)["train/episodes/failed"])).toEqual([2, 2, 2, 2]);
      expect(toRecord(records[0]!.metrics)["train/success"]).toBe(0.5);
      expect(ledger.groups).toMatchObject({ trained: 8, failed: 0 });
    }),
  );

  it.live("make short windows of failed groups, and an empty one where all failed", () =>
    Effect.gen(function* () {
      const fates: Fates = (group, member) => ([1, 4, 5].includes(group) ? crash : mixed)(group, member);
      const { ended, batches, events, ledger, records } = yield* observed({ config: inMode(mode), fates });
      expect(ended).toMatchObject({ step: 4, version: 3, reason: "complete" });
      expect(records.map(({ metrics }) => toRecord(metrics)["train/episodes/failed"])).toEqual([2, 0, 4, 0]);
      expect(batches.map(({ window, groups }) => [window, Array.from(new Set(groups))])).toEqual([
        [0, [0]],
        [1, [2, 3]],
        [3, [6, 7]],
      ]);
      expect(eventsOf(events, "EmptySelection").map(({ window }) => window)).toEqual([2]);
      expect(ledger.groups).toMatchObject({ admitted: 8, trained: 5, failed: 3 });
      const notices = events.map(noticeText).filter((notice) => notice?.startsWith("group "));
      expect(new Set(notices)).toEqual(new Set([1, 4, 5].map((group) => `group ${group} failed: step_error: crash`)));
    }),
  );

  it.live("release every sequence, however its episode ended", () =>
    Effect.gen(function* () {
      const fates: Fates = (group, member) => ({ turns: 2, end: (group + member) % 2 === 0 ? "crash" : "success" });
      const { released, replies } = yield* observed({ config: inMode(mode), fates });
      expect(new Set(released).size).toBe(new Set(replies.map(({ group, member }) => group * 2 + member)).size);
    }),
  );

  it.live("of every gradient of an update skip it, and the run goes on", () =>
    Effect.gen(function* () {
      const { ended, events, ledger } = yield* observed({
        config: inMode(mode),
        fates: mixed,
        notFinite: (update) => update === 2,
      });
      expect(ended).toMatchObject({ step: 4, version: 3, reason: "complete" });
      expect(eventsOf(events, "UpdateSkipped").map(({ window }) => window)).toEqual([1]);
      expect(ledger.groups).toMatchObject({ admitted: 8, trained: 6, dropped: 2 });
    }),
  );

  it.live("of every gradient of trainer.max_skipped_updates in a row fail the run with a good checkpoint", () =>
    Effect.gen(function* () {
      const [events, skipped]: [Event[], (number | undefined)[]] = [[], []];
      const failure = yield* Effect.flip(
        observed({
          config: inMode(mode, { max_skipped_updates: 2, total_training_steps: 20 }),
          // The second update fails alone, the fourth and all later ones in a row.
          notFinite: (update) => update === 2 || update > 3,
          onEvent: (event) => void events.push(event),
          onRecord: ({ metrics }) => void skipped.push(toRecord(metrics)["train/consecutive_skipped_updates"]),
        }),
      );
      const [saved] = eventsOf(events, "CheckpointWritten");
      expect(saved?.step).toBe(5);
      expect(failure).toMatchObject({ _tag: "LearnerError", reason: "not_finite" });
      expect(failure.message).toBe(
        "2 updates in a row, from step 4 on, could not be applied (not finite: the policy's gradient); " +
          `lower actor.lr (0.000001) or actor.grad_clip (1); the last good checkpoint is ${saved?.folder}`,
      );
      expect(skipped).toEqual([0, 1, 0, 1, 2]);
      expect(events.map(noticeText)).toContain("window 4: update skipped, not finite: the policy's gradient");
    }),
  );

  it.live("of every gradient of all updates never fail the run whose trainer.max_skipped_updates is 0", () =>
    Effect.gen(function* () {
      const config = inMode(mode, { max_skipped_updates: 0, total_training_steps: 7 });
      const { ended } = yield* observed({ config, notFinite: () => true });
      expect(ended).toMatchObject({ step: 7, version: 0, reason: "complete" });
    }),
  );

  it.live("of every gradient of a run of fewer windows fail it at its end", () =>
    Effect.gen(function* () {
      const config = inMode(mode, { total_training_steps: 2 });
      const failure = yield* Effect.flip(observed({ config, notFinite: () => true }));
      expect(failure.message).toContain("2 updates in a row, from step 1 on,");
    }),
  );

  it.live("of the learner fail the run and leave the last checkpoint", () =>
    Effect.gen(function* () {
      const error = new LearnerError({ reason: "session_failed", message: "out of memory" });
      const saved: number[] = [];
      const failure = yield* Effect.flip(
        observed({
          config: inMode(mode, { save_freq: 1 }),
          failUpdate: { at: 3, error },
          onEvent: (event) => {
            if (event._tag === "CheckpointWritten") saved.push(event.step);
          },
        }),
      );
      expect(failure).toBe(error);
      expect(saved).toEqual([1, 2]);
    }),
  );
});
