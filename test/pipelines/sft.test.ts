import { existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { sft } from "../../pipelines/sft.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import * as Model from "../../src/model/Model.ts";
import * as RunLock from "../../src/observe/record/RunLock.ts";
import { readRunResult } from "../../src/observe/record/readRunResult.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { treeOf } from "../support/files/tree.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { collected } from "../warnings.ts";
import { interrupt } from "./tiny.ts";

const sftConfig = (dir: string, changes: Tree = {}) =>
  tinyConfig(dir, merge({ rollout: { response_length: 24, max_model_len: 250 } }, changes));

/** The lines printed by a run; `onLine` is told of each as it is printed. */
const clone = (config: RunConfig, resume: string | null = null, onLine: (line: string) => void = () => undefined) => {
  const lines: string[] = [];
  const log = (line: string): void => {
    lines.push(line);
    onLine(line);
  };
  const quiet = { ...globalThis.console, log };
  return Effect.as(
    Effect.provideService(sft({ config, resume }), Console.Console, quiet).pipe(Effect.provide(Stop.layer)),
    lines,
  );
};

/** The only run's folder below `dir`. */
const runFolder = (dir: string) =>
  Effect.promise(async () => {
    const runs = join(dir, "runs", "tiny");
    const [name = ""] = await readdir(runs);
    return join(runs, name);
  });
const names = (folder: string) => Effect.promise(async () => (await readdir(folder)).sort());

const weights = (folder: string) => Effect.promise(() => readFile(join(folder, "model.safetensors")));

/** Milliseconds on a machine that others use too; a second or two on a quiet one. */
const patience = 240_000;

describe("sft", () => {
  it.live(
    "writes a model folder that loads, the same at the same seed, and goes on from one",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const output = join(dir, "sft");
          const lines = yield* clone(sftConfig(dir));
          expect(lines.filter((line) => line.startsWith("step "))).toHaveLength(3);
          expect((yield* Model.load(output)).checkpoint.config).toMatchObject({ layers: 2, hiddenSize: 32 });
          expect(yield* names(dir)).toEqual(["runs", "sft"]);
          expect(yield* names(output)).not.toContain("learner");
          const run = yield* runFolder(dir);
          expect(yield* names(run)).toEqual(["checkpoints", "config.yaml", "sft.json"]);
          const result = yield* Effect.promise(() => readRunResult(run));
          expect(result).toMatchObject({
            kind: "cloning",
            end: { _tag: "Completed" },
            steps: { done: 3, planned: 3 },
            cloning: { loss: expect.any(Number), heldOutLoss: null, output, base: null },
          });
          expect(lines.slice(-5)).toEqual([
            expect.stringMatching(/^loss {9}\d\.\d{4} nats a token/),
            `model        ${output}`,
            "next",
            expect.stringContaining(` evaluate --config-name ${join(run, "config.yaml")} model.path=${output}`),
            expect.stringContaining(` train --config-name ${join(run, "config.yaml")} model.path=${output}`),
          ]);
          expect(yield* names(join(run, "checkpoints"))).toEqual(["step-3"]);
          const first = yield* weights(output);

          yield* clone(sftConfig(dir));
          expect((yield* weights(output)).equals(first)).toBe(true);

          yield* clone(sftConfig(dir, { sft: { init: output, output: join(dir, "further"), steps: 1 } }));
          expect((yield* weights(join(dir, "further"))).equals(first)).toBe(false);
        }),
      ),
    patience,
  );

  it.live(
    "fails where no step can be applied, with a checkpoint of the weights as they were",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const config = sftConfig(dir, { trainer: { max_skipped_updates: 2 }, sft: { steps: 9 } });
          const printed: string[] = [];
          const keep = (line: string): void => void printed.push(line);
          const failure = yield* Effect.flip(clone({ ...config, sft: { ...config.sft, lr: 1e308 } }, null, keep));
          const kept = join(yield* runFolder(dir), "checkpoints", "step-2");
          expect(failure).toMatchObject({ _tag: "LearnerError", reason: "not_finite" });
          expect(failure.message).toBe(
            "2 updates in a row, from step 1 on, could not be applied (not finite: the policy's new parameters); " +
              `lower sft.lr (1e+308) or actor.grad_clip (1); the last good checkpoint is ${kept}`,
          );
          expect((yield* Effect.promise(async () => readRunResult(dirname(dirname(kept))))).end).toEqual({
            _tag: "Failed",
            message: failure.message,
          });
          expect(printed).toContain("step 2/9  skipped, not finite: the policy's new parameters");
          expect(yield* names(dir)).toEqual(["runs"]);
          yield* Model.load(kept);
          yield* clone(sftConfig(dir, { sft: { steps: 3 } }), yield* runFolder(dir));
          expect(yield* names(dir)).toEqual(["runs", "sft"]);
        }),
      ),
    patience,
  );

  it.live(
    "stops at an interrupt with a checkpoint and goes on from it to the bits of a run that was never stopped",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const [whole, halved] = [yield* temporaryFolder, yield* temporaryFolder];
          const changes = { sft: { steps: 6 } };
          yield* clone(sftConfig(whole, changes));

          const before = process.listeners("SIGINT");
          const stopped = yield* clone(sftConfig(halved, changes), null, (line) => {
            if (line.startsWith("step 2/6")) interrupt(before);
          });
          const run = yield* runFolder(halved);
          const [, count] =
            /^stopped after (\d) steps; millrace sft --resume (.*) goes on$/.exec(stopped.at(-1) ?? "") ?? [];
          expect(["2", "3"]).toContain(count);
          expect(stopped.at(-1)).toContain(run);
          const { end, steps: stepsTaken } = yield* Effect.promise(() => readRunResult(run));
          expect([end._tag, stepsTaken]).toEqual(["Stopped", { done: Number(count), planned: 6 }]);
          expect(yield* names(join(run, "checkpoints"))).toEqual([`step-${count}`]);
          expect(yield* names(halved)).toEqual(["runs"]);

          const resumed = yield* clone(sftConfig(halved, changes), run);
          const steps = resumed.filter((line) => line.startsWith("step ")).map((line) => line.split("/")[0]);
          expect(steps[0]).toBe(`step ${Number(count) + 1}`);
          expect(steps.at(-1)).toBe("step 6");
          expect((yield* weights(join(halved, "sft"))).equals(yield* weights(join(whole, "sft")))).toBe(true);
        }),
      ),
    patience,
  );

  it.live(
    "goes on from the checkpoint before a damaged one to the same bits; one that is in use, or damaged all over, is left as it was",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const config = sftConfig(dir, { sft: { steps: 4, save_freq: 1 } });
          const locks: boolean[] = [];
          const runs = join(dir, "runs", "tiny");
          yield* clone(config, null, (line) => {
            if (line.startsWith("step ")) locks.push(existsSync(join(runs, readdirSync(runs)[0]!, "lock")));
          });
          expect(locks).toEqual([true, true, true, true]);
          const run = yield* runFolder(dir);
          const whole = yield* weights(join(dir, "sft"));
          const checkpoints = join(run, "checkpoints");
          expect(yield* names(checkpoints)).toEqual(["step-3", "step-4"]);
          const damage = (step: number) =>
            Effect.promise(() => truncate(join(checkpoints, `step-${step}`, "optimiser.safetensors"), 100));

          yield* damage(4);
          const treeBefore = treeOf(run);
          const used = yield* Effect.flip(
            Effect.scoped(Effect.andThen(RunLock.hold(run), Effect.scoped(clone(config, run)))),
          );
          expect(used).toMatchObject({
            _tag: "BadInput",
            message: expect.stringContaining("this process writes this run"),
          });
          expect(treeOf(run)).toEqual(treeBefore);

          const { layer, lines } = collected();
          yield* Effect.provide(clone(config, run), layer);
          expect(lines).toEqual([expect.stringContaining(`going on from ${join(checkpoints, "step-3")} instead`)]);
          expect((yield* weights(join(dir, "sft"))).equals(whole)).toBe(true);
          expect(yield* names(checkpoints)).toEqual(["step-3", "step-4", "step-4.damaged"]);

          yield* damage(3);
          yield* damage(4);
          const before = treeOf(run);
          const refused = yield* Effect.flip(Effect.provide(clone(config, run), layer));
          expect(refused.message).toContain(join(checkpoints, "step-4", "optimiser.safetensors"));
          expect(treeOf(run)).toEqual(before);
        }),
      ),
    patience,
  );

  it.live(
    "clones conversations alone or with demonstrations, and measures those held out without changing a bit",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const path = join(dir, "chats.jsonl");
          const rows = Array.from({ length: 24 }, (_, n) => {
            const messages = [
              { role: "user", content: `Up or down, ${n}?` },
              { role: "assistant", content: n % 2 === 0 ? "Up" : "Down" },
            ];
            return JSON.stringify({ messages });
          });
          yield* Effect.promise(() => writeFile(path, rows.join("\n")));
          const recordings = (val_freq: number) => ({ path, val_share: 0.3, val_freq });
          const alone = yield* clone(sftConfig(dir, { sft: { sources: [], conversations: recordings(1) } }));
          const losses = alone.flatMap((line) => /held out (\d+\.\d+)/.exec(line)?.[1] ?? []);
          expect(losses).toHaveLength(3);
          expect(Number(losses.at(-1))).toBeLessThan(Number(losses[0]));
          const measured = yield* weights(join(dir, "sft"));

          const rarely = yield* clone(sftConfig(dir, { sft: { sources: [], conversations: recordings(0) } }));
          expect(rarely.filter((line) => / held out \d/.test(line))).toHaveLength(1);
          expect((yield* weights(join(dir, "sft"))).equals(measured)).toBe(true);

          const mixed = yield* clone(sftConfig(dir, { sft: { conversations: recordings(0) } }));
          expect(mixed.some((line) => /\d+ demonstrations of FrozenLake/.test(line))).toBe(true);
          expect(mixed.some((line) => /\d+ conversations of .*, \d+ held out$/.test(line))).toBe(true);
        }),
      ),
    patience,
  );

  it.live(
    "refuses to go on from a folder without a checkpoint of its own",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const checkpoints = join(dir, "checkpoints");
          yield* Effect.promise(() => mkdir(join(checkpoints, "step-4"), { recursive: true }));
          yield* Effect.promise(() => writeFile(join(dir, "config.yaml"), ""));
          const other = yield* Effect.flip(clone(sftConfig(dir), dir));
          expect([other._tag, other.message]).toEqual([
            "BadInput",
            `${join(checkpoints, "step-4", "cloning.json")}: no such file or folder`,
          ]);
          yield* Effect.promise(() => rm(join(checkpoints, "step-4"), { recursive: true }));
          const none = yield* Effect.flip(clone(sftConfig(dir), dir));
          expect(none.message).toBe(`${checkpoints}: it holds no checkpoint to resume from`);
        }),
      ),
    patience,
  );

  it.live(
    "refuses an output that cannot be written before it trains, and sources that leave nothing to clone",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          yield* Effect.promise(() => writeFile(join(dir, "file"), ""));
          const output = join(dir, "file", "model");
          const unwritable = yield* Effect.flip(clone(sftConfig(dir, { sft: { output } })));
          expect([unwritable._tag, unwritable.message]).toEqual([
            "BadInput",
            expect.stringContaining(join(dir, "file")),
          ]);

          const nothing = yield* Effect.flip(clone(sftConfig(dir, { rollout: { response_length: 1 } })));
          expect(nothing).toMatchObject({
            _tag: "BadInput",
            message: "sft.sources: no demonstration of FrozenLake is left to clone",
          });
        }),
      ),
    patience,
  );
});
