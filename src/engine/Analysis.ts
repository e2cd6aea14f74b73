/**
 * The decomposition of the gradient on groups that are played for it, by the weights that the window is trained from. Invariant: nothing that
 * training depends on changes; the groups are in no window and no ledger.
 */
import { Effect } from "effect";
import type { AnalysisGroups } from "../config/analysisGroups.ts";
import { isFailed } from "../domain/Group.ts";
import { timed } from "../domain/Instant.ts";
import { analysis } from "../domain/metrics/diagnostics.ts";
import { learner } from "../domain/metrics/learner.ts";
import { mergeMetrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { Bus } from "../flow/Bus.ts";
import { spanned } from "../flow/spanned.ts";
import * as GradientAnalysis from "../learner/analysis/GradientAnalysis.ts";
import { sourceMetrics } from "../learner/analysis/sourceMetrics.ts";
import { collateTrained } from "../learner/collate.ts";
import { Learner } from "../learner/Learner.ts";
import * as Pinned from "../rollout/pinned.ts";
import * as Rollout from "../rollout/Rollout.ts";
import * as Seeds from "../rollout/seeds.ts";
import { filter, keepAll } from "../selection/filtering/filter.ts";
import { score } from "../selection/scoring/score.ts";
import { Stop } from "../support/process/Stop.ts";
import { Config, RolloutSetup } from "./RunContext.ts";
import { Selection } from "./stages/filter.ts";

/** The analysis of a window's weights as metrics; none once a stop is asked for. */
const analyse = Effect.fnUntraced(function* (window: number, analysisGroups: AnalysisGroups) {
  const config = yield* Config;
  const bus = yield* Bus;
  const stop = yield* Stop;
  const selection = (yield* Selection) ?? undefined;
  const { rollout, training } = yield* RolloutSetup;
  const playing = Pinned.play(config, rollout, bus.state().position.version, {
    size: analysisGroups.group_size,
    mode: (version) => Rollout.analysisMode(training, version),
    prompts: (version) => Seeds.analysis(analysisGroups, window, version),
    progress: (done, total) => bus.emit({ _tag: "Analysing", window, done, of: total }),
  });
  const outcome = yield* Effect.raceFirst(Effect.as(stop.requested, null), timed(playing));
  if (outcome === null) return metricsFrom();
  const [{ groups }, seconds] = outcome;
  const scored = score({ index: window, groups: groups.filter((group) => !isFailed(group)) }, config.reward);
  // A refill's target is a window's.
  const rule = { ...config.filter, refill: { ...config.filter.refill, target: 0 } };
  const filtered = filter(scored, rule, selection);
  const options = { window, unseen: rollout.unseen, temperature: config.generation.temperature };
  const isAnalysedWhole = config.trainer.gradient_analysis_log_prefilter;
  const decomposed = yield* (yield* Learner).analyse({
    kept: collateTrained(filtered, options),
    unfiltered: isAnalysedWhole ? collateTrained(keepAll(scored), options) : undefined,
  });
  const exited = GradientAnalysis.endsRun(config.trainer, window) ? 1 : undefined;
  const extras = metricsFrom(
    [learner.timing.of({ phase: "gradient_analysis_gen" }), seconds],
    [analysis.exited, exited],
  );
  return mergeMetrics(decomposed, sourceMetrics(analysisGroups, groups, filtered.metrics), extras);
});

/** Returns the analysis of a window and its times; no metrics where none is due, or the window's own batch is analysed. */
export const analyseWindow = Effect.fnUntraced(function* (window: number) {
  const { playedGroups, ...options } = GradientAnalysis.analysisOptions(yield* Config);
  if (playedGroups === null || !GradientAnalysis.isDue(options, window)) return metricsFrom();
  const [metrics, seconds] = yield* timed(spanned(analyse(window, playedGroups), "gradient_analysis", { window }));
  const phase = learner.timing.of({ phase: "gradient_analysis" });
  return metrics.size === 0 ? metrics : mergeMetrics(metrics, metricsFrom([phase, seconds]));
});
