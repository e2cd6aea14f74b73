import { readFile } from "node:fs/promises";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import { reachConfig } from "../build/config.ts";
import { alike, eventsOf, type Fates, inFolder, mixed, newest, observed, resume, stopOn, train } from "./fakes.ts";

/** 6 windows of 2 groups, three windows in flight at most. */
const config = (pipeline: object = {}, trainer: object = {}) =>
  reachConfig({
    pipeline: { mode: "async", max_staleness: 2, rollout_concurrency: 8, ...pipeline },
    trainer: { total_training_steps: 6, ...trainer },
  });
/** Each reply of `group` takes `replyMs`, and all others take 1 ms. */
const slow =
  (group: number, replyMs: number): Fates =>
  (number, member) => ({ ...mixed(number, member), replyMs: number === group ? replyMs : 1 });

const afterWindow = (trained: number) => stopOn("Updated", ({ window }) => window === trained);

describe("a stop in the middle of a run", () => {
  it.live("drains: every whole window in flight is consumed, and a checkpoint says where to go on", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const run = yield* train({ config: config(), fates: slow(3, 50), folder, onEvent: afterWindow(0) });
        expect(run.ended).toMatchObject({ reason: "stopped", checkpoint: expect.stringContaining("step-") });
        const admitted = run.ledger.groups.admitted;
        expect(run.ended.step).toBe(Math.floor(admitted / 2));
        expect(run.ledger.groups).toMatchObject({ trained: 2 * run.ended.step, dropped: admitted % 2 });
        const { state } = yield* newest(folder);
        expect(state).toMatchObject({ step: run.ended.step, position: { version: run.ended.version } });
      }),
    ),
  );

  it.live("drops at the deadline what cannot finish, and issues those seeds again on resume", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const first = yield* train({
          config: config({ stop_deadline_ms: 20 }),
          fates: slow(3, 5_000),
          folder,
          onEvent: afterWindow(0),
        });
        expect(first.ended).toMatchObject({ step: 1, version: 1, reason: "stopped" });
        expect(eventsOf(first.events, "Stopped").map(({ reason }) => reason)).toEqual(["stopped", "deadline"]);
        const dropped = eventsOf(first.events, "Dropped").flatMap(({ groups }) => groups.map(({ group }) => group));
        expect(dropped).toContain(3);
        expect(first.ledger.groups).toMatchObject({ trained: 2, dropped: dropped.length });

        const { state } = yield* newest(folder);
        expect(state.seeds.returned).toEqual([...dropped].sort((a, b) => a - b));

        const second = yield* resume({ config: config(), folder });
        expect(second.ended).toMatchObject({ step: 6, version: 6, reason: "complete" });
        const issued = eventsOf(second.events, "Admitted").map(({ group }) => group);
        expect(issued).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        expect(second.batches.map(({ window }) => window)).toEqual([1, 2, 3, 4, 5]);
      }),
    ),
  );

  it.live("gives back the filtered and failed groups of a window that was not consumed", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        // In window 1 group 2 fails at once and group 3 is not done when the deadline comes.
        const fates: Fates = (group, member) =>
          group === 2 ? { turns: 1, end: "crash", replyMs: 1 } : slow(3, 5_000)(group, member);
        yield* train({ config: config({ stop_deadline_ms: 20 }), fates, folder, onEvent: afterWindow(0) });
        expect((yield* newest(folder)).state.seeds.returned).toContain(2);
        const { ended } = yield* resume({ config: config(), folder });
        expect(ended).toMatchObject({ step: 6, reason: "complete" });
      }),
    ),
  );

  it.live("lets an update that has begun end, deadline or not: the checkpoint is a step boundary", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const { ended, batches } = yield* train({
          config: config({ stop_deadline_ms: 10 }),
          updateMs: 100,
          folder,
          onEvent: stopOn("Verdict", ({ window }) => window === 1),
        });
        expect(ended).toMatchObject({ step: batches.length, version: batches.length, reason: "stopped" });
        expect(yield* newest(folder)).toMatchObject({
          learner: ended.version,
          state: { position: { version: ended.version } },
        });
      }),
    ),
  );

  it.live("cuts a validation short and skips the one at the end", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const trainer = { val_before_train: true, val_at_end: true };
        const { ended, events, replies } = yield* train({
          config: config({ mode: "sync" }, trainer),
          folder,
          onEvent: afterWindow(1),
        });
        expect(ended).toMatchObject({ step: 3, reason: "stopped" });
        expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([0]);
        expect(replies.filter(({ validation, version }) => validation && version > 0)).toEqual([]);
      }),
    ),
  );

  it.live("before the first window leaves a checkpoint that starts from the beginning", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const first = yield* train({
          config: config({ stop_deadline_ms: 0 }),
          fates: slow(0, 500),
          folder,
          onEvent: stopOn("Admitted"),
        });
        expect(first.ended).toMatchObject({ step: 0, version: 0, reason: "stopped" });
        const second = yield* resume({ config: config(), folder });
        expect(second.ended).toMatchObject({ step: 6, reason: "complete" });
        expect(second.records.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
      }),
    ),
  );

  it.live("keeps the count of empty selections in a row over a resume", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const empty = reachConfig({ filter: { include_zero: false }, trainer: { empty_stop_steps: 3 } });
        const fates: Fates = () => ({ turns: 1, end: "miss", replyMs: 1 });
        const first = yield* train({
          config: empty,
          fates,
          folder,
          onEvent: stopOn("EmptySelection", ({ consecutive }) => consecutive === 1),
        });
        expect(first.ended.reason).toBe("stopped");
        const second = yield* resume({ config: empty, fates, folder });
        expect(second.ended).toMatchObject({ step: 3, reason: "empty_selections" });
      }),
    ),
  );
});

describe("records and validation", () => {
  it.live("validates once at the last step where test_freq and val_at_end meet, in that step's one record", () =>
    Effect.gen(function* () {
      const trainer = { test_freq: 2, val_at_end: true, val_before_train: true };
      const { events, records } = yield* observed({ config: config({}, trainer) });
      expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([0, 2, 4, 6]);
      const validated = records.filter(({ metrics }) => "val-env/success" in toRecord(metrics)).map(({ step }) => step);
      expect([validated, records.map(({ step }) => step)]).toEqual([
        [0, 2, 4, 6],
        [0, 1, 2, 3, 4, 5, 6],
      ]);
    }),
  );

  it.live.each(["sync", "async", "lockstep"] as const)(
    "rolls out and trains on the first window while the start is validated, and records the start first: %s",
    (mode) =>
      Effect.gen(function* () {
        const { events, records } = yield* observed({
          config: config({ mode }, { val_before_train: true }),
          validates: () => "miss",
        });
        const order = events.map(({ _tag }) => _tag);
        expect(order.indexOf("Admitted")).toBeLessThan(order.indexOf("Validated"));
        expect(order.indexOf("Validated")).toBeLessThan(order.indexOf("StepClosed"));
        expect(records.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      }),
  );

  it.live("gives slots to the first window, then to the validation before it, then to later windows", () =>
    Effect.gen(function* () {
      const { replies } = yield* observed({
        config: reachConfig({
          generation: { slots: 4 },
          pipeline: { mode: "async", max_staleness: 2 },
          trainer: { val_before_train: true },
        }),
        validates: () => "miss",
      });
      const begun = replies
        .filter(({ turn, version }) => turn === 1 && version === 0)
        .toSorted((a, b) => a.requestedAt - b.requestedAt)
        .map(({ group, validation }) => (validation ? "validation" : group < 2 ? "first" : "later"));
      expect(begun.filter((kind, i) => kind !== begun[i - 1])).toEqual(["first", "validation", "later"]);
    }),
  );

  it.live("plays a validation that falls due on an empty window after the next update", () =>
    Effect.gen(function* () {
      const { events } = yield* observed({
        config: reachConfig({ filter: { include_zero: false }, trainer: { test_freq: 2, total_training_steps: 5 } }),
        fates: (group, member) => (group === 2 || group === 3 ? alike : mixed)(group, member),
      });
      expect(eventsOf(events, "ValidationPostponed").map(({ step }) => step)).toEqual([2]);
      expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([3, 4]);
    }),
  );

  it.live("plays a validation that falls due at a skipped update after the next update", () =>
    Effect.gen(function* () {
      const { events } = yield* observed({
        config: reachConfig({ trainer: { test_freq: 2, total_training_steps: 5 } }),
        fates: mixed,
        notFinite: (update) => update === 2,
      });
      expect(eventsOf(events, "UpdateSkipped").map(({ window }) => window)).toEqual([1]);
      expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([3, 4]);
    }),
  );

  it.live("plays a validation that a stop cut after the next update of the resumed run", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const options = { config: config({ mode: "sync" }, { test_freq: 2 }), folder };
        const first = yield* train({ ...options, onEvent: stopOn("Verdict", ({ window }) => window === 1) });
        expect([first.ended.step, eventsOf(first.events, "Validated")]).toEqual([2, []]);
        const second = yield* resume(options);
        expect(eventsOf(second.events, "Validated").map(({ step }) => step)).toEqual([3, 4, 6]);
      }),
    ),
  );

  it.live("validates at the end of a run that empty selections stopped", () =>
    Effect.gen(function* () {
      const { ended, events, records } = yield* observed({
        config: reachConfig({
          filter: { include_zero: false },
          trainer: { empty_stop_steps: 2, val_at_end: true, total_training_steps: 9 },
        }),
        fates: () => ({ turns: 1, end: "miss", replyMs: 1 }),
      });
      expect(ended).toMatchObject({ step: 2, reason: "empty_selections" });
      expect(eventsOf(events, "Validated").map(({ step }) => step)).toEqual([2]);
      expect(records.map(({ step }) => step)).toEqual([1, 2]);
    }),
  );

  it.live("writes a checkpoint every save_freq steps and at the end, and keeps the newest", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const { events } = yield* train({ config: config({}, { save_freq: 2, max_checkpoints: 2 }), folder });
        expect(eventsOf(events, "CheckpointWritten").map(({ step }) => step)).toEqual([2, 4, 6]);
        expect((yield* newest(folder)).state).toMatchObject({ step: 6, seeds: { next: 12, returned: [] } });
      }),
    ),
  );
});

describe("trajectories and validations", () => {
  it.live("of steps that a resumed run plays again are cut off, so that none is there twice", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const options = {
          config: config({ mode: "sync" }, { save_freq: 2, test_freq: 1, trajectory_freq: 1, validation_episodes: 1 }),
          folder,
        };
        yield* Effect.exit(
          train({
            ...options,
            onEvent: (event) => {
              if (event._tag === "Updated" && event.window === 3) throw new Error("killed");
            },
          }),
        );
        const stepsOf = (file: string, split: string) =>
          Effect.promise(async () => {
            const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
            const records = lines.map((line): { step: number; split?: string } => JSON.parse(line));
            return records.filter((record) => (record.split ?? split) === split).map(({ step }) => step);
          });
        const written = Effect.all([stepsOf(folder.trajectories, "train"), stepsOf(folder.validations, "val")]);
        expect(yield* written).toEqual([
          [1, 1, 2, 2, 3, 3],
          [1, 2, 3],
        ]);
        yield* resume(options);
        expect(yield* written).toEqual([
          [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
          [1, 2, 3, 4, 5, 6],
        ]);
      }),
    ),
  );
});
