/**
 * Runs that are killed (SIGKILL) again and again, a third of the times inside a save, and go on each time. They must end like runs that
 * never were: every step once, books balanced, and in sync mode and with a fixed lag the same parameters to the bit.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import { decodeAll } from "../../src/observe/record/replies/ReplyRecord.ts";
import { parameterHash } from "../pipelines/tiny.ts";
import type { Fault } from "./faultyDisk.ts";
import { recordedOnce, survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const kills = Number(process.env.MILLRACE_CHAOS_KILLS ?? 60);
/** Once so much time has passed, a run is killed half as often. */
const patienceMs = 240_000;
const steps = 12;

/**
 * The settings of the runs, in turn: every context mode, each with a validation beside the rollouts after every step and fewer slots than
 * their sequences.
 */
const settings: readonly Tree[] = [
  {},
  { rollout: { context: "limited_multi_turn", max_context_window: 3 } },
  { rollout: { context: "single_turn", max_context_window: 2 } },
  { rollout: { max_model_len: 110, overflow: "drop" } },
];

const cramped = {
  trainer: { total_training_steps: steps, test_freq: 1 },
  es_manager: { val: { env_groups: 6, n_groups: [6] } },
  rollout: { max_turn: 3 },
  generation: { slots: 4 },
} satisfies Tree;

/** The ways in which rollouts and updates take turns, and whether a run promises its bits. */
const schedules: readonly { readonly pipeline: Tree; readonly isPromised: boolean }[] = [
  { pipeline: { mode: "sync" }, isPromised: true },
  { pipeline: { mode: "async" }, isPromised: false },
  { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 2 }, isPromised: true },
];

const hashOf = (folder: string) => parameterHash(join(folder, "checkpoints", `step-${steps}`));

/** Hash of a run under `changes` that is never disturbed. */
const undisturbed = Effect.fnUntraced(function* (changes: Tree) {
  const trial = yield* Trial.make(changes);
  expect(yield* Trial.outcome(trial.fresh)).toMatchObject({ code: 0 });
  return yield* hashOf(trial.folder() ?? "");
});

/** When a process is killed: inside a save, or so many milliseconds after its start or after its first step. */
type Moment =
  | { readonly _tag: "InSave"; readonly thread: "main" | "learner"; readonly at: number }
  | { readonly _tag: "AfterStart"; readonly ms: number }
  | { readonly _tag: "AfterStep"; readonly ms: number };

const random = stream({ seed, purpose: "noise", counters: [] });

const momentOf = (kill: number): Moment => {
  if (kill % 3 === 0) return { _tag: "InSave", thread: random.pick(["main", "learner"]), at: 1 + random.int(40) };
  return kill % 3 === 1
    ? { _tag: "AfterStep", ms: random.int(400) }
    : { _tag: "AfterStart", ms: 300 + random.int(2_500) };
};

/** Runs until it is killed or done. */
const disturbed = (trial: Trial.Trial, words: readonly string[], moment: Moment) =>
  Effect.scoped(
    Effect.gen(function* () {
      const fault: Fault | undefined =
        moment._tag === "InSave"
          ? { under: join(trial.dir, "runs"), only: "/checkpoints/", kill: { thread: moment.thread, at: moment.at } }
          : undefined;
      const run = yield* Trial.millrace(words, fault);
      if (moment._tag === "AfterStep") yield* Trial.said(run, "step ");
      if (moment._tag !== "InSave") setTimeout(() => run.child.kill("SIGKILL"), moment.ms);
      return yield* Effect.promise(() => run.ended);
    }),
  );

/** Kills one run until it was killed `most` times or has ended, then lets it go on to its end. Returns the kills, and those inside a save. */
const disturbedRun = Effect.fnUntraced(function* (trial: Trial.Trial, from: number, most: number) {
  let [used, inSave] = [0, 0];
  for (;;) {
    const moment = momentOf(from + used);
    const folder = trial.folder();
    const goesOn = folder !== null && Trial.checkpointsOf(folder).length > 0;
    const words = goesOn ? trial.resume() : trial.fresh;
    if (folder !== null && Trial.checkpointsOf(folder).at(-1) === steps) {
      // Killed behind its last checkpoint, a run had its end to write and its lock to give up, or its lock alone.
      const { code, stderr } = yield* Trial.outcome(words);
      if (code !== 2) expect([code, stderr]).toEqual([0, expect.anything()]);
      const done = { code: 2, stderr: expect.stringContaining(`all ${steps} steps are done`) };
      expect(yield* Trial.outcome(words)).toMatchObject(done);
      rmSync(join(folder, "lock"), { force: true });
      return { used, inSave };
    }
    if (used >= most) {
      const { code, stderr } = yield* Trial.outcome(words);
      expect([code, stderr]).toEqual([0, expect.anything()]);
      return { used, inSave };
    }
    const { code, signal, stderr } = yield* disturbed(trial, words, moment);
    if (signal === "SIGKILL") {
      used++;
      if (moment._tag === "InSave") inSave++;
      continue;
    }
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^(warning: [^\n]* its lock is taken over\n)?$/)]);
    return { used, inSave };
  }
});

/** Steps between two checkpoints, and the step behind which a run is killed: most of its work is since the last checkpoint. */
const sparse = { save_freq: 5, killedBehind: 9 };

/** The replies that the log of a run holds, told apart by window and key. */
const loggedKeys = (folder: string, from: number): readonly string[] =>
  readdirSync(join(folder, "replies"))
    .filter((name) => name.endsWith(".bin") && Number(/\d+/.exec(name)?.[0]) >= from)
    .flatMap((name) => {
      const { records } = decodeAll(readFileSync(join(folder, "replies", name)));
      return records.map(({ key }) => `${name} ${JSON.stringify(key)}`);
    });

/** Kills a run some milliseconds behind a step, and lets it go on; what the log gave back, in numbers. */
const killedBetweenSaves = Effect.fnUntraced(function* (changes: Tree, ms: number) {
  const trial = yield* Trial.make(merge(changes, { trainer: { save_freq: sparse.save_freq } }));
  yield* Effect.scoped(
    Effect.gen(function* () {
      const run = yield* Trial.millrace(trial.fresh);
      yield* Trial.said(run, `step  ${sparse.killedBehind}/${steps}`);
      setTimeout(() => run.child.kill("SIGKILL"), ms);
      yield* Effect.promise(() => run.ended);
    }),
  );
  const folder = trial.folder() ?? "";
  const from = Trial.checkpointsOf(folder).at(-1) ?? 0;
  const logged = loggedKeys(folder, from);
  const before = Trial.linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const savedAt = Number(before.findLast(({ _tag }) => _tag === "CheckpointWritten")?.at);
  const workMs = Number(before.at(-1)?.at) - savedAt;
  expect(yield* Trial.outcome(trial.resume())).toMatchObject({ code: 0 });
  const reused = Trial.linesOf(join(folder, "events.jsonl")).find(({ _tag }) => _tag === "RepliesReused");
  expect(reused).toMatchObject({ replies: logged.length, differing: 0 });
  const after = loggedKeys(folder, 0);
  expect(new Set(after).size).toBe(after.length);
  survived(folder, steps);
  return { folder, replies: logged.length, workSeconds: workMs / 1000, seconds: Number(reused?.seconds) };
});

describe("a kill between two checkpoints", () => {
  it.live("costs no logged reply, and the run is soon where it was", () =>
    Effect.scoped(
      Effect.gen(function* () {
        for (const [index, { isPromised, pipeline }] of schedules.entries()) {
          const changes = merge(cramped, { pipeline });
          const killed = yield* killedBetweenSaves(changes, 40 + 60 * index);
          console.log(
            `${JSON.stringify(pipeline)}: ${killed.workSeconds.toFixed(2)} s since the checkpoint, ${killed.replies} replies from the log in ${killed.seconds.toFixed(2)} s`,
          );
          if (isPromised) expect(yield* hashOf(killed.folder)).toBe(yield* undisturbed(changes));
        }
      }),
    ),
  );
});

describe("kills", () => {
  it.live(`${kills} of them leave no trace in the runs that go on`, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const begun = performance.now();
        let [used, inSave, runs] = [0, 0, 0];
        const cases = settings.flatMap((setting) => schedules.map((schedule) => ({ ...schedule, setting })));
        for (const { isPromised, pipeline, setting } of cases) {
          const share = (kills - used) / (cases.length - runs);
          const most = Math.ceil(performance.now() - begun > patienceMs ? share / 2 : share);
          const changes = merge(merge(cramped, setting), { pipeline });
          const trial = yield* Trial.make(changes);
          const done = yield* disturbedRun(trial, used, most);
          used += done.used;
          inSave += done.inSave;
          runs++;
          const folder = trial.folder() ?? "";
          expect(existsSync(folder)).toBe(true);
          survived(folder, steps);
          expect(recordedOnce(folder)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
          if (!isPromised) continue;
          expect(yield* hashOf(folder)).toBe(yield* undisturbed(changes));
        }
        console.log(
          `${used} kills, ${inSave} inside a save, over ${runs} runs in ${Math.round((performance.now() - begun) / 1000)} s`,
        );
        expect(inSave * 4).toBeGreaterThanOrEqual(used);
      }),
    ),
  );
});
