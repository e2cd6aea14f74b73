/** Runs of an environment of one's own: cloned and trained on, its steps inline and in threads. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { describe, expect } from "vitest";
import { sft } from "../../pipelines/sft.ts";
import type { Tree } from "../../src/config/Tree.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train, writeModel } from "./tiny.ts";

const env_type = new URL("../../docs/examples/environment/lights.ts", import.meta.url).pathname;
const groups = { env_groups: 2, tags: ["Lights"], n_groups: [2] };
const mine: Tree = {
  trainer: { total_training_steps: 1 },
  es_manager: { train: groups, val: groups },
  sft: { sources: [{ tag: "Lights", episodes: 16 }], steps: 1 },
  custom_envs: { Lights: { env_type, env_config: { lamps: 4 } } },
};

const playRun = Effect.fnUntraced(function* (dir: string, step_inline: boolean) {
  const name = step_inline ? "inline" : "threads";
  const changes = { ...mine, run: { name }, pipeline: { step_inline } };
  yield* train({ config: tinyConfig(dir, changes), resume: null });
  const parent = join(dir, "runs", name);
  const [folder] = yield* Effect.promise(() => readdir(parent));
  return yield* Effect.promise(() => readFile(join(parent, folder!, "trajectories.jsonl"), "utf8"));
});

describe("an environment of one's own", () => {
  it.live(
    "trains, its steps inline and in threads alike",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const inline = yield* playRun(dir, true);
          expect(yield* playRun(dir, false)).toBe(inline);
          const [first] = inline.split("\n");
          expect(JSON.parse(first!).messages[0]).toEqual({ role: "user", content: expect.stringMatching(/^[01]{4}$/) });
        }),
      ),
    240_000,
  );

  it.live(
    "is cloned from its own solver",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* temporaryFolder;
          const lines: string[] = [];
          const quiet = { ...globalThis.console, log: (line: string) => void lines.push(line) };
          const config = tinyConfig(dir, { ...mine, rollout: { response_length: 24, max_model_len: 250 } });
          yield* Effect.provideService(sft({ config }), Console.Console, quiet).pipe(
            Effect.provide(Stop.layerWithoutSignals),
          );
          expect(lines[0]).toMatch(
            /\d+ demonstrations of Lights \(\d+ instances are validation's or have no solution\)$/,
          );
          expect(lines).toContain(`model        ${join(dir, "sft")}`);
        }),
      ),
    240_000,
  );
});
