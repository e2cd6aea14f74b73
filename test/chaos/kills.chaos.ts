/**
 * Runs that are killed (SIGKILL) again and again, a third of the times inside a save, and go on each time. They must end like runs that
 * never were: every step once, books balanced, and in sync mode and with a fixed lag the same parameters to the bit.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import { pathOf } from "../../src/observe/record/replies/ReplyFiles.ts";
import { decodeAll } from "../../src/observe/record/replies/ReplyRecord.ts";
import { parameterHash } from "../pipelines/tiny.ts";
import type { Fault } from "./faultyDisk.ts";
import { cramped, killedRuns, schedules, steps } from "./killedRuns.ts";
import { Losses } from "./Losses.ts";
import { episodeCounts, recordedOnce, survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const kills = Number(process.env.MILLRACE_CHAOS_KILLS ?? 60);
/** True if every setting is run under every schedule, again and again until so many kills were survived. */
const isWhole = kills >= 300;
/** Once so much time has passed, a run is killed half as often, unless the walk is whole. */
const patienceMs = 240_000;
/** Steps between two checkpoints of the runs that are killed at any moment. */
const saveFreq = 3;
/** Members of a group. */
const groupSize = 4;

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

/** Expects a run that was killed behind its last checkpoint to have its end to write and its lock to give up, or its lock alone. */
const endsAfterLastCheckpoint = Effect.fnUntraced(function* (trial: Trial.Trial, folder: string) {
  const { code, stderr } = yield* Trial.outcome(trial.resume());
  if (code !== 2) expect(code, stderr).toBe(0);
  const done = { code: 2, stderr: expect.stringContaining(`all ${steps} steps are done`) };
  expect(yield* Trial.outcome(trial.resume())).toMatchObject(done);
  rmSync(join(folder, "lock"), { force: true });
});

/** True if a run can go on in its folder: from a checkpoint, or from its start by the replies in its log. */
const canGoOn = (folder: string): boolean =>
  Trial.checkpointsOf(folder).length > 0 || existsSync(join(folder, "replies", "window-000000.bin"));

/** Matches a run's standard error. It says where a killed run left its lock, and of `sumAgent.ts` that one of its calls begins anew. */
const warningsOf = (changes: Tree): RegExp => {
  const lock = "(warning: [^\\n]* its lock is taken over\\n)?";
  const agent = "(warning: agent: in its first 8 episodes: 8 calls begin anew [^\\n]*\\n)?";
  return new RegExp(`^${lock}${"agent" in changes ? agent : ""}$`);
};

/** Kills one run until it was killed `most` times or has ended, then lets it go on to its end. Returns the number of kills inside a save. */
const disturbedRun = Effect.fnUntraced(function* (trial: Trial.Trial, warnings: RegExp, losses: Losses, most: number) {
  const before = losses.kills;
  let inSave = 0;
  for (;;) {
    const moment = momentOf(losses.kills);
    const folder = trial.folder();
    const words = folder !== null && canGoOn(folder) ? trial.resume() : trial.fresh;
    if (folder !== null && Trial.checkpointsOf(folder).at(-1) === steps) {
      yield* endsAfterLastCheckpoint(trial, folder);
      return inSave;
    }
    if (losses.kills - before >= most) {
      const { code, stderr } = yield* Trial.outcome(words);
      expect(code, stderr).toBe(0);
      return inSave;
    }
    const startedMs = Date.now();
    const { code, signal, stderr } = yield* disturbed(trial, words, moment);
    if (signal === "SIGKILL") {
      losses.add(trial.folder(), startedMs, Date.now());
      if (moment._tag === "InSave") inSave++;
      continue;
    }
    expect(stderr).toMatch(warnings);
    expect(code).toBe(0);
    return inSave;
  }
});

/** Steps between two checkpoints, and the window at whose first logged replies a run is killed: most of its work is since the last checkpoint. */
const sparse = { save_freq: 5, killedIn: 9 };

/** The replies that the log of a run holds, told apart by window and key. */
const loggedKeys = (folder: string, from: number): readonly string[] =>
  readdirSync(join(folder, "replies"))
    .filter((name) => name.endsWith(".bin") && Number(/\d+/.exec(name)?.[0]) >= from)
    .flatMap((name) => {
      const { records } = decodeAll(readFileSync(join(folder, "replies", name)));
      return records.map(({ key }) => `${name} ${JSON.stringify(key)}`);
    });

/** Kills a run in the middle of a write to its log, and lets it go on; what the log gave back, in numbers. */
const killedBetweenSaves = Effect.fnUntraced(function* (changes: Tree) {
  const trial = yield* Trial.make(merge(changes, { trainer: { save_freq: sparse.save_freq } }));
  const write: Fault = {
    under: join(trial.dir, "runs"),
    only: basename(pathOf("", sparse.killedIn)),
    kill: { thread: "main", at: 1 },
  };
  expect(yield* Trial.outcome(trial.fresh, write)).toMatchObject({ signal: "SIGKILL" });
  const folder = trial.folder() ?? "";
  const from = Trial.checkpointsOf(folder).at(-1) ?? 0;
  const logged = loggedKeys(folder, from);
  const before = Trial.linesOf(join(folder, "events.jsonl"), { endsInPart: true });
  const savedAt = Number(before.findLast(({ _tag }) => _tag === "CheckpointWritten")?.at);
  const workMs = Number(before.at(-1)?.at) - savedAt;
  const { code, stderr } = yield* Trial.outcome(trial.resume());
  expect(code, stderr).toBe(0);
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
        for (const { isPromised, pipeline } of schedules) {
          const changes = merge(cramped, { pipeline });
          const killed = yield* killedBetweenSaves(changes);
          console.log(
            `${JSON.stringify(pipeline)}: ${killed.workSeconds.toFixed(2)} s since the checkpoint, ${killed.replies} replies from the log in ${killed.seconds.toFixed(2)} s`,
          );
          if (isPromised) expect(yield* hashOf(killed.folder)).toBe(yield* undisturbed(changes));
        }
      }),
    ),
  );
});

/** Returns a function that gives the hash of an undisturbed run, which it makes once for each of the changes. */
const undisturbedHashes = () => {
  const hashes = new Map<Tree, string>();
  return Effect.fnUntraced(function* (changes: Tree) {
    const hash = hashes.get(changes) ?? (yield* undisturbed(changes));
    hashes.set(changes, hash);
    return hash;
  });
};

describe("kills", () => {
  it.live(`${kills} of them leave no trace in the runs that go on`, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const begun = performance.now();
        const cases = killedRuns(seed, isWhole);
        const losses = new Losses();
        const expectedHash = undisturbedHashes();
        let [inSave, runs, lost, duplicated] = [0, 0, 0, 0];
        for (; runs < cases.length || (isWhole && losses.kills < kills); runs++) {
          const { changes, isPromised } = cases[runs % cases.length]!;
          const share = (kills - losses.kills) / Math.max(1, cases.length - runs);
          const isLate = !isWhole && performance.now() - begun > patienceMs;
          const trial = yield* Trial.make(merge(changes, { trainer: { save_freq: saveFreq } }));
          inSave += yield* disturbedRun(trial, warningsOf(changes), losses, Math.ceil(isLate ? share / 2 : share));
          const folder = trial.folder() ?? "";
          expect(existsSync(folder)).toBe(true);
          survived(folder, steps);
          expect(recordedOnce(folder)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
          const counts = episodeCounts(folder, groupSize);
          lost += counts.lost;
          duplicated += counts.duplicated;
          if (isWhole) console.log(`run ${runs + 1}: ${losses.kills} kills so far; ${losses}`);
          if (isPromised) expect(yield* hashOf(folder)).toBe(yield* expectedHash(changes));
        }
        const seconds = Math.round((performance.now() - begun) / 1000);
        console.log(`${losses.kills} kills, ${inSave} inside a save, over ${runs} runs in ${seconds} s`);
        console.log(`${lost} episodes lost, ${duplicated} counted twice; ${losses}`);
        expect({ lost, duplicated }).toEqual({ lost: 0, duplicated: 0 });
        expect(inSave * 4).toBeGreaterThanOrEqual(losses.kills);
      }),
    ),
  );
});
