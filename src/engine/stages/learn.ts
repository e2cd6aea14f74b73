/**
 * The learning stage: credit and update of one window at a time, so that values are always the current critic's. It waits for the step of
 * the window before to be closed, and counts as blocked meanwhile. Invariants: every window is consumed exactly once, trained on or not;
 * a window's passes all use the same number of the learner's lanes.
 */
import { Effect, type Scope } from "effect";
import { isFixedLag } from "../../config/fixedLag.ts";
import { trainedLevels } from "../../config/levels.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { TokenBatch } from "../../domain/Batch.ts";
import type { Version } from "../../domain/Episode.ts";
import type { Consumption, Stopped } from "../../domain/Event.ts";
import { idsOf } from "../../domain/Group.ts";
import { timed } from "../../domain/Instant.ts";
import { type Metrics, mergeMetrics, valueIn } from "../../domain/metrics/Metrics.ts";
import { timing } from "../../domain/metrics/run.ts";
import { lead } from "../../domain/PipelineMode.ts";
import * as RunState from "../../domain/RunState.ts";
import * as TaskSampler from "../../domain/TaskSampler.ts";
import { Admitter } from "../../flow/admission/Admitter.ts";
import { Bus } from "../../flow/Bus.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { spanned } from "../../flow/spanned.ts";
import { Policy } from "../../generation/Policy.ts";
import { analysesUnfiltered, analysisOptions, endsRun } from "../../learner/analysis/GradientAnalysis.ts";
import { collateTrained } from "../../learner/collate.ts";
import * as LanesSetting from "../../learner/LanesSetting.ts";
import { type Credit, Learner, type UpdateReport, type WindowTokens } from "../../learner/Learner.ts";
import { madeVersion, windowEnd } from "../../learner/windowEnd.ts";
import * as Collapse from "../../selection/diagnostics/Collapse.ts";
import { keepAll } from "../../selection/filtering/filter.ts";
import * as Analysis from "../Analysis.ts";
import { Config, RolloutSetup } from "../RunContext.ts";
import type { JudgedWindow } from "./filter.ts";

/** The result of training on one window. */
export interface LearnedWindow extends Pick<JudgedWindow, "window" | "scored" | "filtered"> {
  /** Version the window was trained from. */
  readonly from: Version;
  /** The kept groups as the update took them, with their credit; null when there was nothing to train on. */
  readonly batch: (TokenBatch & Credit) | null;
  /** Null when there was nothing to train on. */
  readonly report: UpdateReport | null;
  /** Seconds of the window's phases; a phase that did not take place is absent. */
  readonly seconds: { readonly filter: number; readonly update?: number };
}

/** The result of training with the metrics of its diagnostics. */
export interface DiagnosedWindow extends LearnedWindow {
  readonly diagnostics: Metrics;
}

/** Tells when every generator samples with the version. */
const awaitAdoption = Effect.fnUntraced(function* (version: Version) {
  const policy = yield* Policy;
  const bus = yield* Bus;
  yield* policy.awaitVersion(version);
  yield* bus.emit({ _tag: "WeightsAdopted", version });
});

/** The stop of a run by itself. Windows that are whole by then are still trained on, except with a fixed lag. */
const ownStop = (config: RunConfig, reason: "empty_selections" | "gradient_analysis"): Stopped => ({
  _tag: "Stopped",
  reason,
  ...(isFixedLag(config) ? { steps: 0 } : {}),
});

/** The results of the window's groups by level, as its consumption carries them; nothing in a run without a task sampler. */
const levelResultsOf = (config: RunConfig, { groups }: JudgedWindow["window"]): Pick<Consumption, "levelResults"> => {
  const levels = new Set(Object.values(trainedLevels(config)).flat());
  if (levels.size === 0) return {};
  const { forget } = config.es_manager.train.sampler;
  const counts = TaskSampler.countLevels(groups.filter(({ prompt }) => levels.has(prompt.tag)));
  return { levelResults: { forget, counts } };
};

/** Consumes a window that holds nothing to train on. */
const consumeUntrained = Effect.fnUntraced(function* ({ filtered, window }: JudgedWindow) {
  const config = yield* Config;
  const bus = yield* Bus;
  const groups = idsOf(filtered.kept);
  const { playedGroups, ...options } = analysisOptions(config);
  if (playedGroups !== null && endsRun(options, window.index)) yield* bus.emit(ownStop(config, "gradient_analysis"));
  if (groups.length > 0) {
    const skipped = { window: window.index, groups, ...levelResultsOf(config, window) };
    return yield* bus.emit({ _tag: "UpdateSkipped", ...skipped, reason: "nothing was sampled" });
  }
  const consecutive = bus.state().emptyInARow + 1;
  const limit = config.trainer.empty_stop_steps;
  // The window's end opens admission at once, which a stop must come before.
  if (RunState.endsEmpty(bus.state(), limit)) yield* bus.emit(ownStop(config, "empty_selections"));
  yield* bus.emit({ _tag: "EmptySelection", window: window.index, consecutive, ...levelResultsOf(config, window) });
});

/** Trains on the tokens of a window and consumes it. The adoption of its version goes on in `scope` where the line does not wait for it. */
const update = Effect.fnUntraced(function* (
  { filtered, window }: JudgedWindow,
  tokens: WindowTokens,
  scope: Scope.Scope,
) {
  const config = yield* Config;
  const bus = yield* Bus;
  const { rules } = yield* Admitter;
  const learner = yield* Learner;
  const report = yield* learner.update(tokens);
  const { version } = report;
  // The window's end opens admission at once, which a stop must come before.
  if (endsRun(config.trainer, window.index)) yield* bus.emit(ownStop(config, "gradient_analysis"));
  if (lead(rules) === 0) yield* awaitAdoption(version);
  yield* bus.emit({
    ...windowEnd(report, window.index, idsOf(filtered.kept), tokens.kept),
    ...levelResultsOf(config, window),
  });
  // The line goes on meanwhile: admission alone waits for it, and a thread that is gone is told of elsewhere.
  if (report.applied && lead(rules) > 0) {
    yield* Effect.forkIn(Effect.ignore(awaitAdoption(version)), scope, { startImmediately: true });
  }
  return report;
});

/** Seconds of credit assignment, as part of the time that the pipeline waits for an update. */
const creditSeconds = ({ seconds }: UpdateReport): number =>
  (valueIn(seconds, timing.values) ?? 0) + (valueIn(seconds, timing.advantages) ?? 0);

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const scope = yield* Effect.scope;
  const { lanes, score } = yield* Learner;
  const { unseen } = (yield* RolloutSetup).rollout;
  const laneSetting = lanes === null ? null : LanesSetting.make(lanes);
  if (laneSetting !== null) registry.addSetting(laneSetting);

  const collapse = Collapse.make(config, { score, emit: bus.emit, state: bus.state });
  const diagnose = Effect.fnUntraced(function* (judged: JudgedWindow) {
    const analysisMetrics = yield* Analysis.analyseWindow(judged.window.index);
    yield* collapse.beforeUpdate(judged.window);
    const learned = yield* learn(judged);
    const collapseMetrics = yield* collapse.afterUpdate(judged.window, scope);
    const diagnosed: DiagnosedWindow = { ...learned, diagnostics: mergeMetrics(collapseMetrics, analysisMetrics) };
    return diagnosed;
  });

  const learn = Effect.fnUntraced(function* (judged: JudgedWindow) {
    const { filtered, filterSeconds, scored, window } = judged;
    const from = bus.state().position.version;
    yield* bus.emit({ _tag: "Learning", window: window.index, from });
    if (laneSetting !== null) yield* laneSetting.apply;
    const options = { window: window.index, unseen, temperature: config.generation.temperature };
    const kept = collateTrained(filtered, options);
    const untrained: LearnedWindow = {
      window,
      scored,
      filtered,
      from,
      batch: null,
      report: null,
      seconds: { filter: filterSeconds },
    };
    if (kept === undefined) {
      yield* consumeUntrained(judged);
      return untrained;
    }
    const isAnalysedWhole = analysesUnfiltered(analysisOptions(config), window.index);
    const tokens = { kept, unfiltered: isAnalysedWhole ? collateTrained(keepAll(scored), options) : undefined };
    const updating = spanned(update(judged, tokens, scope), "update", { window: window.index, from }, madeVersion);
    const [report, elapsed] = yield* timed(updating);
    const learned: LearnedWindow = {
      ...untrained,
      batch: { ...kept, ...report.credit },
      report,
      seconds: { ...untrained.seconds, update: elapsed - creditSeconds(report) },
    };
    return learned;
  });

  return registry.add(yield* Stage.flow({ name: "learn", inbox: 1, concurrency: 1, run: diagnose }));
});
