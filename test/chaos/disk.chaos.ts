/** A disk that is slow, and one that is full: the run keeps its promises or ends with one error, and goes on once there is room. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
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

const shortages = [
  { what: "bytes", options: "size=8m", fill: fillBytes, sentence: /ENOSPC/ },
  {
    what: "inodes",
    options: "size=64m,nr_inodes=80",
    fill: fillInodes,
    sentence: /^\S+: the file system has no inodes left/,
  },
];

describe("a full disk", () => {
  for (const { what, options, fill, sentence } of shortages) {
    it.live(
      `without ${what} ends the run with one sentence; the last checkpoint stays good, and the run goes on once there is room`,
      (context) =>
        Effect.scoped(
          Effect.gen(function* () {
            const trial = yield* Trial.make({ trainer: { total_training_steps: steps } });
            const at = yield* small(trial, options);
            if (at === null) return context.skip("no right to mount a tmpfs");
            const ballast = join(at, "ballast");
            mkdirSync(ballast);
            const run = yield* Trial.millrace([...trial.fresh, "trainer.total_training_steps=1000"]);
            run.child.stdout?.on("data", (text: string) => {
              if (text.includes("step    3/")) fill(ballast);
            });
            const { code, stderr } = yield* Effect.promise(() => run.ended);
            expect(code).toSatisfy((code) => code === 1 || code === 2);
            // events.jsonl, which a run can do without, may meet the full disk first and says so.
            const lines = stderr
              .trimEnd()
              .split("\n")
              .filter((line) => !/^warning: events\.jsonl is switched off: .*ENOSPC/.test(line));
            expect(lines[0]).toMatch(sentence);
            expect(lines[0]).not.toMatch(/^\w*Error:/);
            expect(lines.slice(1)).toSatisfy((rest: string[]) => rest.every((line) => line.startsWith("(--debug")));
            const folder = trial.folder() ?? "";
            expect(Trial.checkpointsOf(folder).length).toBeGreaterThan(0);
            rmSync(ballast, { recursive: true });
            expect(yield* Trial.outcome([...trial.resume(), `trainer.total_training_steps=${steps}`])).toMatchObject({
              code: 0,
            });
            const done = Math.max(steps, Trial.checkpointsOf(folder).at(-1) ?? 0);
            survived(folder, done);
          }),
        ),
    );
  }
});
