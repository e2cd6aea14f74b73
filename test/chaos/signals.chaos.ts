/** Signals and broken outputs, as a terminal, a pipe or a process manager sends them, at every phase of a run. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { parameterHash } from "../pipelines/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const steps = 12;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Longer than the signal that npm passes on comes after the first. */
const secondMs = 400;

const later = (ms: number) => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, ms)));

const trialOf = () => Trial.make({ trainer: { total_training_steps: steps, save_freq: 0 } });

/** The parameters of a run that nothing disturbed. */
const undisturbed = Effect.gen(function* () {
  const trial = yield* trialOf();
  expect(yield* Trial.outcome(trial.fresh)).toMatchObject({ code: 0 });
  return yield* parameterHash(join(trial.folder() ?? "", "checkpoints", `step-${steps}`));
});

/** A run that is sent SIGTERM so many milliseconds after its start: its end, what it took to end, and its folder if it left one. */
const stoppedAfter = Effect.fnUntraced(function* (ms: number) {
  const trial = yield* trialOf();
  const run = yield* Trial.millrace(trial.fresh);
  yield* later(ms);
  run.child.kill("SIGTERM");
  const signalled = performance.now();
  const ended = yield* Effect.promise(() => run.ended);
  return { ...ended, stopMs: performance.now() - signalled, folder: trial.folder() };
});

describe("the first signal", () => {
  it.live.each(signals)("%s in the middle of a run: a checkpoint, 0, and the same bits once it went on", (signal) =>
    Effect.scoped(
      Effect.gen(function* () {
        const hash = yield* undisturbed;
        const trial = yield* trialOf();
        const run = yield* Trial.millrace(trial.fresh);
        yield* Trial.said(run, "step  3/");
        run.child.kill(signal);
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({ code: 0, stderr: "" });
        const folder = trial.folder() ?? "";
        expect(Trial.checkpointsOf(folder)).toHaveLength(1);
        expect(yield* Trial.outcome(trial.resume())).toMatchObject({ code: 0, stderr: "" });
        survived(folder, steps);
        expect(yield* parameterHash(join(folder, "checkpoints", `step-${steps}`))).toBe(hash);
      }),
    ),
  );

  it.live("while the run resolves and loads: 0 within its deadline, and no run folder without a checkpoint", () =>
    Effect.scoped(
      Effect.gen(function* () {
        for (const ms of [500, 700, 900, 1_100, 1_300, 1_600]) {
          const { code, folder, signal, stopMs } = yield* Trial.unlessAborted(stoppedAfter(ms));
          // Before any of our code runs, the signal ends the process by itself.
          if (signal !== "SIGTERM") expect({ code, signal }).toEqual({ code: 0, signal: null });
          expect(stopMs).toBeLessThan(10_000);
          if (folder !== null) expect(Trial.checkpointsOf(folder)).toHaveLength(1);
        }
      }),
    ),
  );
});

describe("a chat template that loops", () => {
  const loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  const childrenOf = (pid = 0): string => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  /** A new run whose model's folder has this template. */
  const looping = Effect.gen(function* () {
    const trial = yield* trialOf();
    const path = join(trial.dir, "model", "tokenizer_config.json");
    const { millrace_chat_style: _, ...config } = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...config, chat_template: loop }));
    return yield* Trial.millrace(trial.fresh);
  });

  it.live("is refused with exit code 2 and a sentence", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { code, stderr } = yield* Effect.flatMap(looping, ({ ended }) => Effect.promise(() => ended));
        expect([code, stderr]).toEqual([2, expect.stringContaining("it takes longer than 10 s for one chat")]);
      }),
    ),
  );

  it.live.each(signals)("leaves a start open to %s: it ends with 0 before the template's time is up", (signal) =>
    Effect.scoped(
      Effect.gen(function* () {
        const run = yield* looping;
        yield* Effect.promise(() => expect.poll(() => childrenOf(run.child.pid), { timeout: 60_000 }).not.toBe(""));
        run.child.kill(signal);
        const { code, stderr } = yield* Effect.promise(() => run.ended);
        expect([code, stderr]).toEqual([0, expect.not.stringContaining("takes longer")]);
      }),
    ),
  );

  it.live.each([
    ["right after the first, which npm passes on", 10, [0]],
    // Whichever comes first: the orderly end of the start, or the second signal.
    ["later", secondMs, [0, 130]],
  ] as const)("is ended with its run by a second signal %s", ([, ms, codes]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const run = yield* looping;
        const { pid = 0 } = run.child;
        yield* Effect.promise(() => expect.poll(() => childrenOf(pid), { timeout: 60_000 }).not.toBe(""));
        const templates = childrenOf(pid).trim().split(" ");
        run.child.kill("SIGINT");
        yield* later(ms);
        run.child.kill("SIGINT");
        const { code, signal, stderr } = yield* Effect.promise(() => run.ended);
        expect(codes).toContain(code);
        expect([signal, stderr]).toEqual([null, expect.not.stringContaining("takes longer")]);
        const left = () => templates.filter((template) => existsSync(`/proc/${template}`));
        yield* Effect.promise(() => expect.poll(left, { timeout: 5_000 }).toEqual([]));
      }),
    ),
  );
});

describe("the second signal", () => {
  it.live("ends the process with 130 whatever its threads are doing, ten times out of ten", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const words = ["train", "--config-name", "quickstart", `run.dir=${dir}`, "trainer.val_before_train=false"];
        for (let time = 0; time < 10; time++) {
          const run = yield* Trial.millrace([...words, "metrics.console=plain"]);
          yield* Trial.said(run, "seed");
          // Into the first rollouts, or the first update: 384 episodes are under way, which take seconds to end.
          yield* later(300 * (time + 1));
          run.child.kill("SIGINT");
          yield* later(secondMs);
          run.child.kill("SIGINT");
          expect(yield* Effect.promise(() => run.ended)).toMatchObject({ code: 130, signal: null, stderr: "" });
        }
      }),
    ),
  );
});

describe("a run whose output is gone", () => {
  it.live("goes on without a console, to its end", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* trialOf();
        const run = yield* Trial.millrace(trial.fresh);
        yield* Trial.said(run, "seed");
        run.child.stdout?.destroy();
        const { code, stderr } = yield* Effect.promise(() => run.ended);
        expect([code, stderr]).toEqual([0, expect.stringContaining("console is switched off")]);
        survived(trial.folder() ?? "", steps);
      }),
    ),
  );

  it.live("goes on when standard error is gone, too", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* trialOf();
        const run = yield* Trial.millrace(trial.fresh);
        yield* Trial.said(run, "seed");
        run.child.stdout?.destroy();
        run.child.stderr?.destroy();
        expect(yield* Effect.promise(() => run.ended)).toMatchObject({ code: 0 });
        survived(trial.folder() ?? "", steps);
      }),
    ),
  );
});
