/** An evaluation and behaviour cloning as a caller of the package runs them: promises, and nothing printed. */
import { Effect } from "effect";
import { type MetricKey, metricOf } from "../src/domain/metrics/Catalogue.ts";
import type { Metric } from "../src/domain/metrics/Metric.ts";
import { valueIn } from "../src/domain/metrics/Metrics.ts";
import * as Stop from "../src/support/process/Stop.ts";
import type { Summary } from "../src/tools/evaluation/Summary.ts";
import { type Changes, compose } from "./compose.ts";
import { evaluate as evaluateConfig } from "./evaluate.ts";
import type { EvaluatedModel } from "./evaluateOne.ts";
import { prepareConfig } from "./prepareRun.ts";
import { promiseOf, silently } from "./promises.ts";
import type { OwnModules } from "./RunFile.ts";
import { sft as cloneConfig } from "./sft.ts";

/** The result of an evaluation, as its `summary.json` has it: counts, success and return with their 95 % intervals, and its cost. */
export interface Evaluation extends Summary {
  /** Folder with the summary and every episode. */
  readonly folder: string;
  /** The value of a validation metric; undefined if it was not measured. A name that the catalogue lacks does not compile. */
  readonly get: (metric: MetricKey | Metric) => number | undefined;
}

const evaluationOf = ({ folder, metrics, summary }: EvaluatedModel): Evaluation => ({
  ...summary,
  folder,
  get: (metric) => valueIn(metrics, typeof metric === "string" ? metricOf(metric) : metric),
});

/**
 * Plays a run file's validation by `model.path` of the changes, a run or a model's folder, or by each of `evaluation.models`. Resolves with one result for
 * each model. Rejects with BadInput, PolicyError or EnvironmentError; what was played until then is kept.
 */
export const evaluate = async (
  name: string,
  changes: Changes = {},
  modules: Pick<OwnModules, "environments"> = {},
): Promise<readonly Evaluation[]> => {
  const config = await compose(name, changes, modules);
  const evaluating = Effect.flatMap(prepareConfig("evaluate", config), (prepared) =>
    evaluateConfig({ config: prepared }),
  );
  return (await promiseOf(silently(evaluating))).map(evaluationOf);
};

/** The result of a cloning. */
export interface Cloning {
  /** Folder of the run: its configuration, `sft.json` and checkpoints. */
  readonly folder: string;
  /** Folder of the cloned model, which `model.path` takes. */
  readonly model: string;
}

/**
 * Clones the teachers' replies or recorded conversations of a run file's `sft` section (behaviour cloning). Rejects with BadInput, LearnerError or
 * EnvironmentError, and with StoppedEarly after a signal.
 */
export const sft = async (
  name: string,
  changes: Changes = {},
  modules: Pick<OwnModules, "environments"> = {},
): Promise<Cloning> => {
  const config = await compose(name, changes, modules);
  const cloning = Effect.gen(function* () {
    const prepared = yield* prepareConfig("sft", config);
    const folder = yield* cloneConfig({ config: prepared });
    if (folder !== null) return { folder, model: prepared.sft.output };
    return yield* new Stop.StoppedEarly({ message: "cloning was stopped; what is done is in its checkpoint" });
  });
  return promiseOf(silently(Effect.provide(cloning, Stop.layer)));
};
