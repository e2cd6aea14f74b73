/** Comparing validations of runs with one another and with evaluations, from their folders. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect } from "vitest";
import { compare } from "../../pipelines/compare.ts";
import { render } from "../../src/config/render.ts";
import type { Tree } from "../../src/config/Tree.ts";
import type { Comparison } from "../../src/tools/evaluation/Comparison.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const validation = (step: number, ...success: readonly number[]) => JSON.stringify({ step, version: step, success });

/** A run's folder with validations of the four instances. */
const runOf = Effect.fnUntraced(function* (dir: string, name: string, lines: readonly string[], changes: Tree = {}) {
  const folder = join(dir, name, "20260101-000000");
  yield* Effect.promise(async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "config.yaml"), render(tinyConfig(dir, changes)));
    await writeFile(join(folder, "validations.jsonl"), lines.map((line) => `${line}\n`).join(""));
  });
  return folder;
});

const compared = (...runs: readonly string[]) =>
  Effect.map(compare({ runs, json: true }), (lines): Comparison => JSON.parse(lines.join("\n")));
const refusal = (...runs: readonly string[]) =>
  Effect.map(Effect.flip(compare({ runs, json: false })), ({ message }) => message);

describe("runs", () => {
  it.live("are compared by their last validation, or the one after a step", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const a = yield* runOf(dir, "a", [validation(0, 0, 0, 0, 0), validation(3, 1, 1, 0, 0)]);
      yield* runOf(dir, "b", [validation(0, 0, 0, 0, 0), validation(3, 1, 1, 1, 0)]);
      const { pairs, rows } = yield* compared(join(dir, "a"), join(dir, "b"), `${a}@0`);
      expect(rows.map(({ name, success }) => [name, success.mean])).toEqual([
        ["a/20260101-000000@3", 0.5],
        ["b/20260101-000000@3", 0.75],
        ["a/20260101-000000@0", 0],
      ]);
      expect(pairs).toMatchObject([
        { instances: 4, gained: 1, lost: 0, return: null },
        { gained: 0, lost: 2 },
      ]);
    }),
  );

  it.live("test nothing where two seeds have one content, unless an older run did not record it", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const instances = ["a", "a", "b", null];
      const line = (...success: readonly number[]) => JSON.stringify({ step: 3, version: 3, success, instances });
      const a = yield* runOf(dir, "a", [line(1, 1, 0, 0)]);
      const b = yield* runOf(dir, "b", [line(1, 1, 1, 0)]);
      expect((yield* compared(a, b)).pairs).toMatchObject([{ instances: 3, gained: null, p: null }]);
      const older = yield* runOf(dir, "c", [validation(3, 1, 1, 0, 0)]);
      expect((yield* compared(older, older)).pairs).toMatchObject([{ instances: 4, gained: 0, p: 1 }]);
    }),
  );

  it.live("are shown as a table", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const a = yield* runOf(dir, "a", [validation(3, 1, 1, 0, 0)]);
      const lines = yield* compare({ runs: [a, `${a}@3`], json: false });
      expect(lines[0]).toMatch(/^MODEL +EPISODES +SUCCESS % +RETURN$/);
      expect(lines[1]).toMatch(/^a\/20260101-000000@3 +4 +50\.0 \[15\.0, 85\.0\] +-$/);
      expect(lines.some((line) => line.startsWith("a/20260101-000000@3 (2)  4 "))).toBe(true);
    }),
  );

  it.live("are refused where they played otherwise, with the key", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const a = yield* runOf(dir, "a", [validation(3, 1, 1, 0, 0)]);
      const slippery = { custom_envs: { FrozenLake: { env_config: { success_rate: 0.5 } } } };
      const b = yield* runOf(dir, "b", [validation(3, 1, 1, 0, 0)], slippery);
      expect(yield* refusal(a, b)).toContain("do not compare: custom_envs.FrozenLake.env_config.success_rate is");
      const far = yield* runOf(dir, "c", [validation(3, 1, 1, 0, 0)], { es_manager: { val: { seed: 900 } } });
      expect(yield* refusal(a, far)).toContain("they share no instance");
    }),
  );

  it.live("are refused without a validation, with the nearest step", () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const a = yield* runOf(dir, "a", [validation(0, 0, 0, 0, 0), validation(9, 1, 1, 0, 0)]);
      expect(yield* refusal(`${a}@8`)).toContain("nothing to compare; nearest: @9");
      const none = yield* runOf(dir, "b", []);
      expect(yield* refusal(none)).toContain("it has neither episodes nor validations");
      const short = yield* runOf(dir, "c", [validation(0, 1)]);
      expect(yield* refusal(short)).toContain("its validation has 1 episodes, unlike its config.yaml");
    }),
  );
});
