/** A disk that is slow, and one that is full: the run keeps its promises, skips a checkpoint or ends with one error, and goes on once there is room. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { parameterHash } from "../pipelines/tiny.ts";
import { survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const steps = 6;

const mounted = (options: string, at: string): boolean => {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", at], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** A file system with these mount options in the trial's run folder; null where this user may not mount one. */
const small = (trial: Trial.Trial, options: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const at = join(trial.dir, "runs");
      mkdirSync(at, { recursive: true });
      return mounted(options, at) ? at : null;
    }),
    (at) => Effect.sync(() => void (at !== null && execFileSync("umount", ["-l", at]))),
  );

describe("a slow disk", () => {
  it.live("changes nothing but the time: the same parameters, and signals are heard", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const changes = { trainer: { total_training_steps: steps } };
        const [quick, slow] = [yield* Trial.make(changes), yield* Trial.make(changes)];
        expect(yield* Trial.outcome(quick.fresh)).toMatchObject({ code: 0 });
        const fault = { under: slow.dir, delayMs: 20 };
        expect(yield* Trial.outcome(slow.fresh, fault)).toMatchObject({ code: 0, stderr: "" });
        survived(slow.folder() ?? "", steps);
        const hash = (trial: Trial.Trial) => parameterHash(join(trial.folder() ?? "", "checkpoints", `step-${steps}`));
        expect(yield* hash(slow)).toBe(yield* hash(quick));
      }),
    ),
  );
});

/** Fills what is left of the file system, in pieces: the last ones fail. */
const fillBytes = (ballast: string): void => {
  for (let size = 2 ** 20; size >= 1; size >>= 1) {
    try {
      for (;;) writeFileSync(join(ballast, "bytes"), Buffer.alloc(size), { flag: "a" });
    } catch {}
  }
};

const fillInodes = (ballast: string): void => {
  try {
    for (let i = 0; ; i++) writeFileSync(join(ballast, `${i}`), "");
  } catch {}
};

const bytes = { options: "size=8m", fill: fillBytes };
const inodes = { options: "size=64m,nr_inodes=80", fill: fillInodes };

/** A trial on a small file system, and a folder there for ballast; null where this user may not mount one. */
const smallTrial = Effect.fnUntraced(function* (options: string) {
  const trial = yield* Trial.make({ trainer: { total_training_steps: steps } });
  const at = yield* small(trial, options);
  if (at === null) return null;
  const ballast = join(at, "ballast");
  mkdirSync(ballast);
  return { trial, ballast, remove: () => rmSync(ballast, { recursive: true }) };
});

/** Calls `act` once, when the run has printed `text`. */
const once = (run: Trial.Started, text: string, act: () => void): void => {
  let all = "";
  let isDone = false;
  run.child.stdout?.on("data", (part: string) => {
    all += part;
    if (isDone || !all.includes(text)) return;
    isDone = true;
    act();
  });
};

/** Lines of standard error; events.jsonl, which a run can do without, may meet the full disk first and says so. */
const errorLines = (stderr: string): readonly string[] =>
  stderr
    .trimEnd()
    .split("\n")
    .filter((line) => !/^warning: events\.jsonl is switched off: .*ENOSPC/.test(line));

/** Goes on from the newest checkpoint, now that there is room. */
const goesOn = Effect.fnUntraced(function* (trial: Trial.Trial, total: number) {
  expect(yield* Trial.outcome([...trial.resume(), `trainer.total_training_steps=${total}`])).toMatchObject({ code: 0 });
  const folder = trial.folder() ?? "";
  survived(folder, Math.max(total, Trial.checkpointsOf(folder).at(-1) ?? 0));
});

const noMount = "no right to mount a tmpfs";

describe("a full disk", () => {
  it.live("under the logs of a run ends it with one sentence; it goes on once there is room", (context) =>
    Effect.scoped(
      Effect.gen(function* () {
        const disk = yield* smallTrial(bytes.options);
        if (disk === null) return context.skip(noMount);
        const { ballast, remove, trial } = disk;
        const run = yield* Trial.millrace([...trial.fresh, "trainer.total_training_steps=1000"]);
        once(run, "step    3/", () => bytes.fill(ballast));
        const { code, stderr } = yield* Effect.promise(() => run.ended);
        expect(code).toSatisfy((code) => code === 1 || code === 2);
        const [first, ...rest] = errorLines(stderr);
        expect(first).toMatch(/ENOSPC/);
        expect(first).not.toMatch(/^\w*Error:/);
        expect(rest).toSatisfy((rest: string[]) => rest.every((line) => line.startsWith("(--debug")));
        expect(Trial.checkpointsOf(trial.folder() ?? "").length).toBeGreaterThan(0);
        remove();
        yield* goesOn(trial, steps);
      }),
    ),
  );

  it.live("under a checkpoint skips it; the run goes on, and saves again once there is room", (context) =>
    Effect.scoped(
      Effect.gen(function* () {
        const disk = yield* smallTrial(inodes.options);
        if (disk === null) return context.skip(noMount);
        const { ballast, remove, trial } = disk;
        const run = yield* Trial.millrace([...trial.fresh, "trainer.total_training_steps=60"]);
        once(run, "step  3/", () => inodes.fill(ballast));
        once(run, "checkpoint skipped", remove);
        const { code, stderr, stdout } = yield* Effect.promise(() => run.ended);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(stdout).toMatch(/step \d+: checkpoint skipped, \S+: the file system has no inodes left/);
        survived(trial.folder() ?? "", 60);
      }),
    ),
  );

  it.live("under the last checkpoint fails the run with one sentence; it goes on once there is room", (context) =>
    Effect.scoped(
      Effect.gen(function* () {
        const disk = yield* smallTrial(inodes.options);
        if (disk === null) return context.skip(noMount);
        const { ballast, remove, trial } = disk;
        const run = yield* Trial.millrace([...trial.fresh, "trainer.total_training_steps=40"]);
        once(run, "step  3/", () => inodes.fill(ballast));
        const { code, stderr } = yield* Effect.promise(() => run.ended);
        expect(code).toBe(1);
        const sentence =
          /^the last checkpoint, of step 40, could not be written: \S+: the file system has no inodes left.*; the newest one is \S+step-\d+\n/;
        expect(stderr).toMatch(sentence);
        const folder = trial.folder() ?? "";
        expect(Trial.checkpointsOf(folder).length).toBeGreaterThan(0);
        expect(readdirSync(join(folder, "checkpoints")).filter((name) => !/^step-\d+$/.test(name))).toEqual([]);
        remove();
        yield* goesOn(trial, 40);
      }),
    ),
  );

  it.live("that the learner's thread meets skips the save, too, and leaves nothing half written", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make({ trainer: { total_training_steps: steps } });
        const fault = { under: trial.dir, only: "model.safetensors", fullFrom: 70 };
        const { code, stderr, stdout } = yield* Trial.outcome(trial.fresh, fault);
        expect(code).toBe(1);
        expect(stdout).toMatch(/step \d: checkpoint skipped, \S+model\.safetensors: the disk is full \(ENOSPC\)/);
        expect(stderr).toMatch(/^the last checkpoint, of step 6, could not be written: .*ENOSPC.*; the newest one is /);
        const folder = trial.folder() ?? "";
        const left = readdirSync(join(folder, "checkpoints"));
        expect(left.filter((name) => !/^step-\d+$/.test(name))).toEqual([]);
        expect(left.length).toBeGreaterThan(0);
        yield* goesOn(trial, steps);
      }),
    ),
  );
});
