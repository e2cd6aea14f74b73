/** An evaluation as a caller of the package runs it: a promise of its result, and nothing printed. */

import { Effect } from "effect";
import { BadInput, EnvironmentError } from "../src/domain/Errors.ts";
import type { Interval } from "../src/domain/intervals.ts";
import { type MetricKey, metricOf } from "../src/domain/metrics/Catalogue.ts";
import type { Metric } from "../src/domain/metrics/Metric.ts";
import { valueIn } from "../src/domain/metrics/Metrics.ts";
import type { Summary } from "../src/tools/evaluation/Summary.ts";
import { checkOptions, type OptionNames } from "./checkOptions.ts";
import type { Changes } from "./compose.ts";
import { evaluate as evaluateConfig } from "./evaluate.ts";
import type { EvaluatedModel } from "./evaluateOne.ts";
import { namedRun } from "./namedRun.ts";
import { type ComposedPolicy, composePolicy } from "./policySource.ts";
import { prepareConfig } from "./prepareRun.ts";
import { promiseOf, silently } from "./promises.ts";
import type { OwnModules } from "./RunFile.ts";

/** The result of an evaluation. */
export interface Evaluation {
  /** Folder with every episode and the summary. */
  readonly folder: string;
  /** Episodes that were played to their end. */
  readonly episodes: number;
  /** Episodes that could not be played to an end; `resume` plays them again. */
  readonly failed: number;
  /** Share of the episodes that succeeded, with its 95 % interval. */
  readonly success: Interval;
  /** Mean of an episode's rewards and penalties, with its 95 % interval. */
  readonly return: Interval;
  /** The value of a validation metric; undefined if it was not measured. A name that the catalogue lacks does not compile. */
  readonly get: (metric: MetricKey | Metric) => number | undefined;
  /** All that `summary.json` has: the results by preset, tokens, seconds and cost. */
  readonly summary: Summary;
}

/** Options of an evaluation. */
export interface EvaluationOptions extends Pick<OwnModules, "environments"> {
  /** Folder of an evaluation to go on with: what is finished is not played again. */
  readonly resume?: string | null;
  /** Ends the evaluation, which rejects with the signal's reason. What is finished stays in its folder. */
  readonly signal?: AbortSignal;
}

const optionNames: OptionNames<EvaluationOptions> = { environments: true, resume: true, signal: true };

/** A model's folder says nothing of what it should play, and a list of models has no single result. */
const checkPlayable = (source: string, { config, hasRunFile, isChanged }: ComposedPolicy) => {
  if (config.evaluation.models.length > 0) {
    const message = `evaluation.models: ${config.evaluation.models.length} models: evaluate plays one; call it for each, or use millrace evaluate`;
    return Effect.fail(new BadInput({ message }));
  }
  if (hasRunFile || isChanged("es_manager.val.tags")) return Effect.void;
  const message = `policy: ${JSON.stringify(source)}: a model's folder names nothing to play; nearest: a run file with model.path in its changes, or es_manager.val.tags`;
  return Effect.fail(new BadInput({ message }));
};

const evaluationOf = ({ folder, metrics, summary }: EvaluatedModel) => {
  const { episodes, failed, return: mean, success } = summary;
  if (success === null || mean === null) {
    const message = `no episode of ${failed} could be played to an end; ${folder} says why`;
    return Effect.fail(new EnvironmentError({ tag: summary.tags.join(", "), message }));
  }
  const get: Evaluation["get"] = (metric) => valueIn(metrics, typeof metric === "string" ? metricOf(metric) : metric);
  const evaluation: Evaluation = { folder, episodes, failed, success, return: mean, get, summary };
  return Effect.succeed(evaluation);
};

/**
 * Plays the validation of a policy. `source` is a run, a run file, or a model's folder with presets named in the changes. A run's newest checkpoint
 * plays under the run's own file; `runs/quickstart@400`, `@best` and a checkpoint's folder name others. Rejects with BadInput, PolicyError or
 * EnvironmentError; what is finished is kept.
 */
export const evaluate = (
  source: string,
  changes: Changes = {},
  { resume = null, signal, ...modules }: EvaluationOptions = {},
): Promise<Evaluation> => {
  const evaluating = Effect.gen(function* () {
    yield* checkOptions("evaluate", modules, optionNames);
    const composed = yield* composePolicy("policy", source, changes, modules);
    yield* checkPlayable(source, composed);
    yield* composed.checkTrusted;
    const folder = resume === null ? null : yield* namedRun("resume", resume);
    const config = yield* prepareConfig("evaluate", composed.config);
    const [evaluated] = yield* silently(evaluateConfig({ config, resume: folder }));
    if (evaluated === undefined)
      return yield* new BadInput({ message: `policy: ${JSON.stringify(source)}: nothing plays` });
    return yield* evaluationOf(evaluated);
  });
  return promiseOf(evaluating, signal);
};
