/** Threads of runs that die, and processes of runs that are killed under `--restarts`: the runs end as if nothing had happened. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge } from "../../src/config/Tree.ts";
import { withLanes, withLearnerDeath } from "../pipelines/deaths.ts";
import { parameterHash } from "../pipelines/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { deathsSoFar, dying } from "./dyingThreads.ts";
import { recordedOnce, restartsOf, survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const steps = 12;
const hashOf = (folder: string) => parameterHash(join(folder, "checkpoints", `step-${steps}`));

/** Parameters of a run that nothing disturbed. */
const undisturbed = Effect.gen(function* () {
  const trial = yield* Trial.make();
  expect(yield* Trial.outcome(trial.fresh)).toMatchObject({ code: 0 });
  return yield* hashOf(trial.folder() ?? "");
});

/** The process that does the training for `pid`. */
const childOf = (pid = 0): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);

describe("train --restarts", () => {
  it.live.each(["SIGKILL", "SIGABRT", "SIGSEGV"] as const)("goes on after %s of the process that trains", (signal) =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make();
        const run = yield* Trial.millrace([...trial.fresh, "--restarts", "2"]);
        yield* Trial.said(run, "step  4/");
        process.kill(childOf(run.child.pid), signal);
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(
            new RegExp(`restarted from step \\d+: the process was killed by ${signal}; restarts left: 1`),
          ),
        });
        const folder = trial.folder() ?? "";
        survived(folder, steps);
        expect(restartsOf(folder)).toHaveLength(1);
        expect(yield* hashOf(folder)).toBe(yield* undisturbed);
      }),
    ),
  );

  it.live("begins again where the process was killed before its first checkpoint", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make({ trainer: { save_freq: 0 } });
        const run = yield* Trial.millrace([...trial.fresh, "--restarts", "1"]);
        yield* Trial.said(run, "step  4/");
        process.kill(childOf(run.child.pid), "SIGKILL");
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({ code: 0 });
        const folder = trial.folder() ?? "";
        survived(folder, steps);
        expect(restartsOf(folder)).toMatchObject([{ step: 0, left: 0 }]);
        expect(yield* hashOf(folder)).toBe(yield* undisturbed);
      }),
    ),
  );

  it.live("ends with 1 and a sentence once its restarts are used", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make();
        const run = yield* Trial.millrace([...trial.fresh, "--restarts", "1"]);
        yield* Trial.said(run, "step  3/");
        process.kill(childOf(run.child.pid), "SIGKILL");
        yield* Trial.said(run, "restarted from");
        process.kill(childOf(run.child.pid), "SIGKILL");
        const folder = trial.folder() ?? "";
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(`none is left; to go on: millrace train --resume ${folder}`),
        });
      }),
    ),
  );

  it.live.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("passes %s on, and does not restart what it stops", (signal) =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make();
        const run = yield* Trial.millrace([...trial.fresh, "--restarts", "2"]);
        yield* Trial.said(run, "step  3/");
        run.child.kill(signal);
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({ code: 0, stderr: "" });
        expect(restartsOf(trial.folder() ?? "")).toEqual([]);
      }),
    ),
  );

  it.live("passes the exit code of bad input on", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make();
        const words = [...trial.fresh, "--restarts", "2", "model.path=/nowhere"];
        expect(yield* Trial.outcome(words)).toMatchObject({ code: 2 });
      }),
    ),
  );
});

describe("a learner's thread that reaches its heap limit", () => {
  it.live("is opened again, and the parameters are those of a run that lost no thread", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const order = join(yield* temporaryFolder, "order");
        const hog = "for (const all = []; ; ) all.push(new Array(100_000).fill(all.length));";
        const trial = yield* Trial.make(withLearnerDeath(order, hog));
        const variables = { NODE_OPTIONS: "--max-old-space-size=256" };
        expect(yield* Trial.outcome(trial.fresh)).toMatchObject({ code: 0 });
        const whole = yield* hashOf(trial.folder() ?? "");
        writeFileSync(order, "");
        expect(yield* Trial.outcome(trial.fresh, undefined, variables)).toMatchObject({ code: 0 });
        const folder = trial.folder() ?? "";
        survived(folder, steps);
        expect(restartsOf(folder)).toMatchObject([{ reason: expect.stringMatching(/^learner died: .*memory/) }]);
        expect(yield* hashOf(folder)).toBe(whole);
      }),
    ),
  );
});

describe("deaths of threads", () => {
  const modes = [{ mode: "sync" }, { mode: "async" }] as const;
  it.live.each(modes)("20 in one run leave no trace: %j", ({ mode }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const most = 20;
        // A thread dies at most two windows after a restart.
        const total = 2 * most + 4;
        const trialIn = (place: string) =>
          Trial.make(
            merge(withLanes(place), {
              trainer: { total_training_steps: total, save_freq: 1, max_checkpoints: 2, max_restarts: most },
              pipeline: { mode },
            }),
          );
        const place = yield* temporaryFolder;
        const trial = yield* trialIn(place);
        const variables = dying({ folder: place, seed, most });
        const words = [...trial.fresh, "--restarts", "1"];
        expect(yield* Trial.outcome(words, undefined, variables)).toMatchObject({ code: 0 });
        const folder = trial.folder() ?? "";
        const reasons = restartsOf(folder).map(({ reason }) => String(reason));
        const lostProcesses = reasons.filter((reason) => reason.startsWith("the process"));
        console.log(`${mode}: ${reasons.length} restarts, ${lostProcesses.length} of them of a process that Node lost`);
        // A death that takes the process with it is followed by a restart of the process alone.
        expect(reasons.length).toBeGreaterThanOrEqual(most);
        expect(reasons.length - lostProcesses.length).toBeLessThanOrEqual(most);
        const records = Trial.linesOf(join(folder, "metrics.jsonl")).filter(({ step }) => step !== 0);
        expect(records.map(({ step }) => step)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
        expect(deathsSoFar(place)).toBe(most);
        recordedOnce(folder);
        const hash = (path: string) => parameterHash(join(path, "checkpoints", `step-${total}`));
        // Rollouts of an async run depend on when weights arrive.
        if (mode === "async") return;
        const whole = yield* trialIn(yield* temporaryFolder);
        expect(yield* Trial.outcome(whole.fresh)).toMatchObject({ code: 0 });
        expect(yield* hash(folder)).toBe(yield* hash(whole.folder() ?? ""));
      }),
    ),
  );
});
