import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { toRecord } from "../../src/domain/metrics/Metrics.ts";
import * as Checkpoints from "../../src/observe/record/Checkpoints.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, type Fates, inFolder, mixed, newest, observed, resume, stopOn, train } from "./fakes.ts";

/** Groups of the first four windows vary, the others do not. */
const flattening: Fates = (group, member) => ({ ...mixed(group, member), ...(group < 8 ? {} : { end: "miss" }) });
const ended = (trainer: Tree, pipeline: Tree = {}) =>
  reachConfig({ trainer: { total_training_steps: 12, ...trainer }, pipeline });

describe("a run that ends by itself", () => {
  it.live.each(["sync", "async"] as const)(
    "%s ends with the step whose rewards have collapsed, and validates it",
    (mode) =>
      Effect.gen(function* () {
        const config = ended({ variance_stop_steps: 2, val_at_end: true }, { mode });
        const { ended: end, events, records } = yield* observed({ config, fates: flattening });
        expect(end).toMatchObject({ step: 6, reason: "reward_variance_collapse" });
        expect(eventsOf(events, "Updated")).toHaveLength(6);
        expect(eventsOf(events, "Validated")).toMatchObject([{ step: 6 }]);
        expect(toRecord(records.at(-1)!.metrics)).toMatchObject({ "early_stopped/reward_variance_collapse": 1 });
        expect(Object.keys(toRecord(records.at(-2)!.metrics)).join()).not.toContain("early_stopped");
      }),
  );

  it.live("ends after validations without success", () =>
    Effect.gen(function* () {
      const config = ended({ success_stop_validations: 2, test_freq: 2 });
      const validates = (validation: number) => (validation === 0 ? "success" : "miss");
      const { ended: end, records } = yield* observed({ config, validates });
      expect(end).toMatchObject({ step: 6, reason: "low_validation_success" });
      expect(toRecord(records.at(-1)!.metrics)).toMatchObject({ "early_stopped/low_validation_success": 1 });
    }),
  );

  it.live("names the stop on empty selections in the metrics too", () =>
    Effect.gen(function* () {
      const config = reachConfig({ trainer: { empty_stop_steps: 2 }, filter: { include_zero: false } });
      const { records } = yield* observed({ config, fates: () => ({ turns: 1, end: "miss", replyMs: 1 }) });
      expect(toRecord(records.at(-1)!.metrics)).toMatchObject({ "early_stopped/empty_filtered_steps": 1 });
    }),
  );

  it.live("completes where the rule would end it with its last step", () =>
    Effect.gen(function* () {
      const config = ended({ variance_stop_steps: 2, total_training_steps: 6 });
      expect((yield* observed({ config, fates: flattening })).ended).toMatchObject({ step: 6, reason: "complete" });
    }),
  );

  it.live("counts on after a resume", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const config = ended({ variance_stop_steps: 2 });
        const onEvent = stopOn("StepClosed", ({ step }) => step === 4);
        const first = yield* train({ config, fates: flattening, folder, onEvent });
        expect(first.ended.reason).toBe("stopped");
        const second = yield* resume({ config, fates: flattening, folder });
        expect(second.ended).toMatchObject({ step: 6, reason: "reward_variance_collapse" });
      }),
    ),
  );
});

describe("the best checkpoint", () => {
  const best: Tree = { test_freq: 1, max_checkpoints: 1, keep_best: { metric: "val-env/success" } };
  /** The second validation is the best, then no other is. */
  const validates = (validation: number) => (validation === 1 ? "success" : "miss");

  it.live("stays beside the newest, with a link to it", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        yield* train({ config: reachConfig({ trainer: { ...best, save_freq: 1 } }), folder, validates });
        expect(yield* Checkpoints.list(folder.checkpoints)).toEqual([2, 4]);
        expect(yield* Effect.promise(() => readlink(join(folder.checkpoints, "best")))).toBe("step-2");
        expect(existsSync(join(folder.checkpoints, "best", "run.json"))).toBe(true);
      }),
    ),
  );

  it.live("is saved where no other is, and stays the best of a run that resumes", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const config = reachConfig({ trainer: { ...best, total_training_steps: 6 } });
        const onEvent = stopOn("StepClosed", ({ step }) => step === 3);
        const first = yield* train({ config, folder, validates, onEvent });
        expect(eventsOf(first.events, "CheckpointWritten").map(({ step }) => step)).toContain(2);
        yield* resume({ config, folder, validates });
        expect(yield* Checkpoints.list(folder.checkpoints)).toEqual([2, 6]);
        expect((yield* newest(folder)).state.seen.best).toMatchObject({ step: 2, value: 1 });
      }),
    ),
  );

  it.live("ends the run when patience is over", () =>
    Effect.gen(function* () {
      const keep_best = { metric: "val-env/success", patience: 2 };
      const config = ended({ test_freq: 1, keep_best });
      expect((yield* observed({ config, validates })).ended).toMatchObject({ step: 4, reason: "no_improvement" });
    }),
  );
});
