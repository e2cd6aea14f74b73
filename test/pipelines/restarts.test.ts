/** Runs whose threads die: they are opened again in their process and end as if nothing had happened. */
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { merge } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { linesOf, newestIn } from "../chaos/Trial.ts";
import { survived } from "../chaos/survived.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { onThread, parameterHash, train, writeModel } from "./tiny.ts";

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

const restartsOf = (folder: string) =>
  linesOf(join(folder, "events.jsonl")).filter(({ _tag }) => _tag === "Restarted");

/** While the scope lives: terminates the thread `name` when the first learner has answered `message` times. */
const terminateOnce = (name: string, message: number) =>
  Effect.gen(function* () {
    const workers = new Map<string, Worker>();
    let isDone = false;
    yield* onThread("", (worker) => workers.set(worker.threadName ?? "", worker));
    yield* onThread("learner", (_, answered) => {
      if (answered !== message || isDone) return;
      isDone = true;
      void workers.get(name)?.terminate();
    });
  });

describe("a thread that dies", () => {
  it.live.each(["learner", "generator-0"])("does not end a sync run, nor change its parameters: %s", (name) =>
    Effect.scoped(
      Effect.gen(function* () {
        const whole = yield* trained(yield* place);
        // Answers of the learner: start, then update and save of each window.
        yield* terminateOnce(name, 4);
        const folder = yield* trained(yield* place);
        survived(folder, steps);
        expect(restartsOf(folder)).toMatchObject([{ left: 2, reason: expect.stringContaining(name) }]);
        expect(yield* hashOf(folder)).toBe(yield* hashOf(whole));
      }),
    ),
  );
});
