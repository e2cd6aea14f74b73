/** Threads of runs that die, and processes of runs that are killed under `--restarts`: the runs end as if nothing had happened. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { killOn, withLanes, withLearnerDeath } from "../pipelines/deaths.ts";
import { parameterHash, train, writeModel } from "../pipelines/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
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
        const random = stream({ seed, purpose: "noise", counters: [] });
        const most = 20;
        // A thread dies at most two windows after a restart.
        const total = 2 * most + 4;
        const configOf = (dir: string) =>
          tinyConfig(
            dir,
            merge(withLanes(dir), {
              trainer: { total_training_steps: total, save_freq: 1, max_checkpoints: 2, max_restarts: most },
              pipeline: { mode },
              metrics: { console: "off" },
            }),
          );
        const place = Effect.tap(temporaryFolder, writeModel);
        const trained = Effect.fnUntraced(function* (dir: string) {
          yield* train({ config: configOf(dir), resume: null });
          return Trial.newestIn(join(dir, "runs", "tiny")) ?? "";
        });
        const dir = yield* place;
        const kinds = ["learner", "generator-0", "learner-lane-2"] as const;
        // Each kind of thread dies six or seven times.
        const victims = random.shuffle(Array.from({ length: most }, (_, death) => kinds[death % kinds.length]!));
        let deaths = 0;
        let next = 5;
        yield* killOn(dir, "learner", (answer) => {
          if (answer !== next || deaths === most) return null;
          next = 5 + random.int(2);
          return victims[deaths++]!;
        });
        const folder = yield* trained(dir);
        const records = Trial.linesOf(join(folder, "metrics.jsonl")).filter(({ step }) => step !== 0);
        expect(records.map(({ step }) => step)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
        expect([deaths, restartsOf(folder).at(-1)]).toMatchObject([most, { left: 0 }]);
        // Restarts without a newer checkpoint cut the events of those before them.
        const named = restartsOf(folder).map(({ reason }) => kinds.find((kind) => String(reason).includes(kind)));
        expect(new Set(named)).toEqual(new Set(kinds));
        recordedOnce(folder);
        const hash = (path: string) => parameterHash(join(path, "checkpoints", `step-${total}`));
        // Rollouts of an async run depend on when weights arrive.
        if (mode === "sync") expect(yield* hash(folder)).toBe(yield* hash(yield* trained(yield* place)));
      }),
    ),
  );
});
