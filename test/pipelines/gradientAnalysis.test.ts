/** Gradients are analysed on groups that are played for it: the numbers of training are the same with and without them, bit for bit. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

const last = 4;
const analysing = {
  gradient_analysis_mode: true,
  gradient_analysis_every: 2,
  gradient_analysis_env_groups: 3,
  gradient_analysis_group_size: 4,
};

/** Metrics of the machine. */
const ofTheMachine = /^(time$|timing_s\/|stage\/|step\/|generation\/|tokens\/.*_per_second$)/;
/** Metrics of the analysis. */
const ofTheAnalysis = /^(grad_norm|grad_analysis|actor\/grad_norm\/|actor\/loss\/)/;

/** Trains to the last step, at once or with a resume after `pause` steps; its parameters, and its metrics by step. */
const trained = Effect.fnUntraced(function* (dir: string, trainer: Tree, pause: number | null = null) {
  const config = (steps: number) =>
    tinyConfig(dir, { trainer: { save_freq: 1, trajectory_freq: 0, total_training_steps: steps, ...trainer } });
  let folder = "";
  const onStart = (run: { readonly folder: string }): void => {
    folder = run.folder;
  };
  yield* train({ config: config(pause ?? last), resume: null, parts: { onStart } });
  if (pause !== null) yield* train({ config: config(last), resume: folder });
  const hash = yield* parameterHash(join(folder, "checkpoints", `step-${last}`));
  const lines = readFileSync(join(folder, "metrics.jsonl"), "utf8").trimEnd().split("\n");
  const records = lines.map((line) => Object.entries<number>(JSON.parse(line)));
  const metricsWhere = (takes: (name: string) => boolean) =>
    records.map((metrics) => Object.fromEntries(metrics.filter(([name]) => !ofTheMachine.test(name) && takes(name))));
  return {
    training: { hash, records: metricsWhere((name) => !ofTheAnalysis.test(name)) },
    analysis: metricsWhere((name) => ofTheAnalysis.test(name)),
  };
});

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

describe("a sync run that analyses gradients on groups of its own", () => {
  it.live(
    "trains as one that does not, and both go on with the same bits after a resume",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const plain = yield* trained(dir, {});
          const whole = yield* trained(dir, analysing);
          expect(whole.training).toEqual(plain.training);
          expect(whole.analysis.map((metrics) => metrics["grad_norm/all/sample_count"])).toEqual([
            12,
            undefined,
            12,
            undefined,
          ]);
          const resumed = yield* trained(dir, analysing, 2);
          expect([resumed.training.hash, resumed.analysis]).toEqual([whole.training.hash, whole.analysis]);
        }),
      ),
    patience,
  );
});
