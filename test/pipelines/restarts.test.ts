/** Runs whose threads die: they are opened again in their process and end as if nothing had happened. */
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { start } from "../../pipelines/TrainingRun.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { restartsOf, survived } from "../chaos/survived.ts";
import { linesOf, newestIn } from "../chaos/Trial.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { killAt, killBehindRequest, withLanes } from "./deaths.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

const steps = 4;
const place = Effect.tap(temporaryFolder, writeModel);
const usual: Tree = {
  trainer: { total_training_steps: steps, save_freq: 1, trajectory_freq: 1, trajectory_groups: 8, max_checkpoints: 2 },
};
const folderIn = (dir: string) => newestIn(join(dir, "runs", "tiny")) ?? "";
const hashOf = (folder: string) => parameterHash(join(folder, "checkpoints", `step-${steps}`));

/** Trains a new run of `dir` to its end and returns its folder. */
const trained = Effect.fnUntraced(function* (dir: string, changes: Tree = {}) {
  yield* train({ config: tinyConfig(dir, merge(usual, changes)), resume: null });
  return folderIn(dir);
});

describe("a thread that dies", () => {
  it.live.each(["learner", "generator-0", "learner-lane-2"] as const)(
    "does not end a sync run, nor change its parameters: %s",
    (name) =>
      Effect.scoped(
        Effect.gen(function* () {
          const [first, second] = [yield* place, yield* place];
          const whole = yield* trained(first, withLanes(first));
          // Answers of the learner: start, then update and save of each window.
          yield* killAt(second, name, "learner", 5);
          const folder = yield* trained(second, withLanes(second));
          survived(folder, steps);
          expect(restartsOf(folder)).toMatchObject([{ left: 2, reason: expect.stringContaining(name) }]);
          expect(yield* hashOf(folder)).toBe(yield* hashOf(whole));
        }),
      ),
  );

  it.live("does not change the parameters of a run with a fixed lag", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const lagged = { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 1 } };
        const whole = yield* trained(yield* place, lagged);
        const dir = yield* place;
        yield* killAt(dir, "generator-0", "learner", 5);
        const folder = yield* trained(dir, lagged);
        survived(folder, steps);
        expect(restartsOf(folder)).toHaveLength(1);
        expect(yield* hashOf(folder)).toBe(yield* hashOf(whole));
      }),
    ),
  );

  it.live("lets a run without a checkpoint begin again in its folder", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const atEnd = { trainer: { save_freq: 0 } };
        const whole = yield* trained(yield* place, atEnd);
        const dir = yield* place;
        yield* killAt(dir, "learner", "learner", 4);
        const folder = yield* trained(dir, atEnd);
        survived(folder, steps);
        expect(restartsOf(folder)).toMatchObject([{ step: 0 }]);
        expect(yield* hashOf(folder)).toBe(yield* hashOf(whole));
      }),
    ),
  );

  it.live("ends a run that has used its restarts, and its newest checkpoint is named", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* place;
        yield* killAt(dir, "learner", "learner", 5, 2);
        const failure = yield* Effect.flip(trained(dir, { trainer: { max_restarts: 1, total_training_steps: 100 } }));
        expect(failure).toMatchObject({ _tag: "LearnerError", reason: "thread_died" });
        expect(failure.message).toContain("trainer.max_restarts: 1");
        expect(failure.message).toMatch(new RegExp(`the newest checkpoint is ${folderIn(dir)}/checkpoints/step-\\d+$`));
      }),
    ),
  );

  it.live("leaves the caller of the package one run", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* place;
        yield* killAt(dir, "generator-0", "learner", 5);
        yield* Effect.promise(async () => {
          const run = await start(tinyConfig(dir, usual), { signals: false });
          const tags = new Set<string>();
          let isComplete = false;
          run.events$.subscribe({
            next: ({ _tag }) => void tags.add(_tag),
            complete: () => {
              isComplete = true;
            },
          });
          let groups = 0;
          run.stage("rollout").out$.subscribe(() => groups++);
          const seen: number[] = [];
          for await (const { step } of run.steps) seen.push(step);
          expect(await run.ended).toMatchObject({ step: steps, reason: "complete" });
          expect(new Set(seen)).toEqual(new Set([1, 2, 3, 4]));
          expect(seen.at(-1)).toBe(steps);
          // Two groups a step, before and after the restart.
          expect(groups).toBeGreaterThanOrEqual(2 * steps - 2);
          expect([tags.has("Restarted"), isComplete, run.state().step]).toEqual([true, true, steps]);
        });
      }),
    ),
  );
});

describe("a group at which a generator thread dies twice", () => {
  it.live("is played no more, and the run goes on", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* place;
        // The two groups of the first window have four episodes each.
        yield* killBehindRequest("generator-0", 8, 2);
        const folder = yield* trained(dir);
        expect(restartsOf(folder)).toMatchObject([{ step: 0, left: 1 }]);
        const finished = linesOf(join(folder, "events.jsonl")).filter(({ _tag }) => _tag === "Finished");
        const crashed = finished.filter(({ failed }) => failed === true);
        expect(crashed.length).toBeGreaterThan(0);
        for (const { reason } of crashed) expect(reason).toMatch(/^generator_crashed: /);
        expect(crashed.length).toBeLessThan(finished.length);
      }),
    ),
  );
});
