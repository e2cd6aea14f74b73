import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { sft } from "../../pipelines/sft.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import * as Model from "../../src/engine/Model.ts";
import { temporaryFolder } from "../engine/fakes.ts";
import { configOf } from "./tiny.ts";

const sftConfig = (dir: string, changes: Tree = {}) =>
  configOf(dir, merge({ rollout: { response_length: 24, max_model_len: 250 } }, changes));

const clone = (config: RunConfig) => {
  const lines: string[] = [];
  const quiet = { ...globalThis.console, log: (line: string) => void lines.push(line) };
  return Effect.as(Effect.provideService(sft({ config, debug: false }), Console.Console, quiet), lines);
};

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
          expect((yield* Effect.promise(() => readdir(dir))).sort()).toEqual(["sft"]);
          expect(yield* Effect.promise(() => readdir(output))).not.toContain("learner");
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
