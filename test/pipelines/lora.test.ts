/** Runs that train an adapter, from beginning to end: their checkpoints, going on, playing, merging, cloning, and what is refused. */
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { afterAll, beforeAll, expect } from "vitest";
import { evaluate } from "../../pipelines/evaluate.ts";
import { merge } from "../../pipelines/merge.ts";
import { sft } from "../../pipelines/sft.ts";
import { merge as laid, type Tree } from "../../src/config/Tree.ts";
import { readCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { problemsIn } from "../problems.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too; a few seconds on a quiet one. */
const patience = 240_000;

const lora: Tree = {
  model: { lora: { rank: 4, alpha: 8 }, generator_threads: 2 },
  actor: { use_kl_loss: true },
};
const steps = (total: number): Tree =>
  laid(lora, { trainer: { total_training_steps: total, save_freq: 1, max_checkpoints: 10 } });

let root: string;
let run: string;

/** Hash of all that decides how a run that trains an adapter goes on. */
const bits = (checkpoint: string): string => {
  const hash = createHash("sha256");
  for (const file of ["adapter_model", "critic", "optimiser"]) {
    hash.update(readFileSync(join(checkpoint, `${file}.safetensors`)));
  }
  return hash.digest("hex");
};
const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined };
const silently = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Console.Console, quiet);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-lora-"));
  await Effect.runPromise(writeModel(root));
  await Effect.runPromise(train({ config: tinyConfig(root, steps(3)), resume: null }));
  const runs = join(root, "runs", "tiny");
  run = join(runs, readdirSync(runs)[0]!);
}, patience);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const checkpoint = (step: number) => join(run, "checkpoints", `step-${step}`);

describe("a run that trains an adapter", () => {
  it("leaves PEFT folders with the learner's state and without the model's weights", () => {
    const names = readdirSync(checkpoint(3));
    expect(names).toEqual(expect.arrayContaining(["adapter_config.json", "adapter_model.safetensors"]));
    expect(names).toEqual(expect.arrayContaining(["tokenizer.json", "critic.safetensors", "optimiser.safetensors"]));
    expect(names).not.toContain("model.safetensors");
    expect(JSON.parse(readFileSync(join(checkpoint(3), "adapter_config.json"), "utf8"))).toMatchObject({
      base_model_name_or_path: join(root, "model"),
      r: 4,
      lora_alpha: 8,
    });
    expect(bits(checkpoint(3))).not.toBe(bits(checkpoint(2)));
  });

  it.live(
    "goes on from a checkpoint to the bits of the run that was never stopped",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          cpSync(run, join(dir, "run"), { recursive: true });
          rmSync(join(dir, "run", "checkpoints", "step-3"), { recursive: true });
          yield* train({ config: tinyConfig(root, steps(3)), resume: join(dir, "run") });
          expect(bits(join(dir, "run", "checkpoints", "step-3"))).toBe(bits(checkpoint(3)));
        }),
      ),
    patience,
  );

  it.live("is refused under another adapter than it began with, and none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const goOn = (changes: Tree) =>
          Effect.flip(train({ config: tinyConfig(root, laid(steps(4), changes)), resume: run }));
        const none = yield* goOn({ model: { lora: { rank: 0 } } });
        expect(none).toMatchObject({ _tag: "BadInput" });
        expect(none.message).toContain("model.lora.rank: the run in");
        const other = yield* goOn({ model: { lora: { rank: 8 } } });
        expect(other).toMatchObject({ _tag: "BadInput" });
        expect(other.message).toMatch(/^model\.lora\.rank: 8: the adapter in .* has 4; nearest: 4$/);
        expect(readdirSync(join(run, "checkpoints"))).toContain("step-3");
      }),
    ),
  );

  it.live(
    "is the start of another run, which has its rank and its first weights",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const model = { path: join(root, "model"), adapter: checkpoint(3), lora: { rank: 0 } };
          const changes = laid(steps(1), { model });
          yield* train({ config: tinyConfig(dir, changes), resume: null });
          const runs = join(dir, "runs", "tiny");
          const begun = join(runs, readdirSync(runs)[0]!, "checkpoints", "step-1");
          expect(JSON.parse(readFileSync(join(begun, "adapter_config.json"), "utf8"))).toMatchObject({ r: 4 });
          expect(bits(begun)).not.toBe(bits(checkpoint(3)));
          const wrong = laid(changes, { model: { lora: { rank: 2 } } });
          const { message } = yield* Effect.flip(train({ config: tinyConfig(dir, wrong), resume: null }));
          expect(problemsIn(message)).toMatchObject([{ key: "model.lora.rank", nearest: "4" }]);
        }),
      ),
    patience,
  );

  it.live(
    "is played as it is, by its base and adapter, and merged",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const whole = join(dir, "whole");
          yield* merge({ adapter: checkpoint(3), output: whole, base: null });
          const { config, parameters } = yield* readCheckpoint(whole);
          expect(config.adapter).toBeUndefined();
          expect(parameters.flat).not.toEqual((yield* readCheckpoint(join(root, "model"))).parameters.flat);
          const evaluateModel = Effect.fnUntraced(function* (name: string, model: Tree) {
            const changes = laid(lora, { run: { name }, model, es_manager: { val: { temperature: 0 } } });
            yield* silently(evaluate({ config: tinyConfig(dir, changes) }));
            const folder = join(dir, "runs", `${name}-evaluate`);
            return readFileSync(join(folder, readdirSync(folder)[0]!, "trajectories.jsonl"), "utf8");
          });
          const texts = (lines: string): readonly unknown[] =>
            lines
              .trimEnd()
              .split("\n")
              .map((line) => JSON.parse(line).messages);
          const direct = yield* evaluateModel("direct", { path: checkpoint(3) });
          const beside = yield* evaluateModel("beside", { path: join(root, "model"), adapter: checkpoint(3) });
          expect(texts(beside)).toEqual(texts(direct));
          expect(texts(yield* evaluateModel("merged", { path: whole }))).toEqual(texts(direct));
        }),
      ),
    patience,
  );
});

describe("cloning into an adapter", () => {
  it.live(
    "writes a PEFT folder, at a lower loss, that a run starts from",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const lines: string[] = [];
          const recorder = { ...quiet, log: (line: string) => void lines.push(line) };
          const changes = laid(lora, {
            rollout: { response_length: 24, max_model_len: 250 },
            model: { lora: { rank: 4, alpha: 64 } },
            sft: { init: join(root, "model"), steps: 30, lr: 2e-2 },
          });
          const cloned = sft({ config: tinyConfig(dir, changes) }).pipe(Effect.provide(Stop.layer));
          yield* Effect.provideService(cloned, Console.Console, recorder);
          const losses = lines.flatMap((line) => {
            const [, loss] = /loss ([\d.]+)/.exec(line) ?? [];
            return loss === undefined ? [] : [Number(loss)];
          });
          // The output matrix of a fresh model stays as it is, and its rows are short: no adapter takes more than some 0.6 nats off.
          expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.2);
          expect(readdirSync(join(dir, "sft")).sort()).toEqual([
            "adapter_config.json",
            "adapter_model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
          ]);
          expect(lines.at(-1)).toContain(` model.path=${join(root, "model")} model.adapter=${join(dir, "sft")}`);
          const random = laid(changes, { sft: { init: "random" } });
          const { message } = yield* Effect.flip(
            silently(sft({ config: tinyConfig(dir, random) })).pipe(Effect.provide(Stop.layer)),
          );
          expect(message).toContain(
            "model.lora.rank: 4: an adapter stands beside a model, and sft.init=random has none",
          );
        }),
      ),
    patience,
  );
});
