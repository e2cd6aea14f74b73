import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { stream } from "../../src/domain/Random.ts";
import { writeCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../../src/model/Model.ts";
import { reachConfig } from "../build/config.ts";
import { problemsIn } from "../problems.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const sizes = { hidden_size: 8, intermediate_size: 8, layers: 1, heads: 1, kv_heads: 1, max_positions: 640 };
const small = (max_positions: number) =>
  Model.randomModel({ ...sizes, max_positions }, stream({ seed: 1, purpose: "initialisation", counters: [] }));

describe("a context longer than the model's positions", () => {
  it.effect.each([
    [640, 640, null],
    [641, 640, 640],
    [3600, 1000, 960],
    [200, 205, 192],
    [192, 205, null],
  ] as const)("%i tokens over %i positions", ([tokens, positions, nearest]) =>
    Effect.gen(function* () {
      const config = reachConfig({ rollout: { max_model_len: tokens, response_length: 8 } });
      const checked = Model.checkContext(config, yield* small(positions));
      if (nearest === null) return yield* checked;
      const { message } = yield* Effect.flip(checked);
      expect(problemsIn(message)).toMatchObject([{ key: "rollout.max_model_len", nearest: `${nearest}` }]);
    }),
  );
});

describe("a run's checkpoint", () => {
  it.effect("is of the model the run began with", () =>
    Effect.gen(function* () {
      const [start, other] = [yield* small(640), yield* small(205)];
      yield* Model.checkSameSizes("model.path", start, start);
      const message = "model.path: another model than the run began with: maxPositions is 640, in its checkpoint 205";
      expect(yield* Effect.flip(Model.checkSameSizes("model.path", start, other))).toMatchObject({ message });
      const config = { ...start.checkpoint.config, ropeScaling: { type: "linear", factor: 2 } } as const;
      const scaled = { ...start, checkpoint: { ...start.checkpoint, config } };
      const refused = yield* Effect.flip(Model.checkSameSizes("model.path", start, scaled));
      expect(refused.message).toContain(
        'ropeScaling is {"type":"default"}, in its checkpoint {"type":"linear","factor":2}',
      );
    }),
  );
});

describe("a folder that a model is to replace", () => {
  it.live("is absent, empty or a model's, and never one that holds something else", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const folder = join(dir, "model");
        const check = Model.checkReplaceable("sft.output", folder);
        yield* check;
        yield* Effect.promise(() => mkdir(folder));
        yield* check;
        yield* writeCheckpoint(folder, (yield* small(16)).checkpoint);
        yield* check;
        yield* Effect.promise(() => writeFile(join(folder, "README.md"), "mine"));
        const { message } = yield* Effect.flip(check);
        expect(message).toContain('this one holds "README.md"');
        expect(yield* Effect.promise(() => readFile(join(folder, "README.md"), "utf8"))).toBe("mine");
        const file = join(dir, "file");
        yield* Effect.promise(() => writeFile(file, ""));
        expect((yield* Effect.flip(Model.checkReplaceable("sft.output", file)))._tag).toBe("BadInput");
      }),
    ),
  );
});
