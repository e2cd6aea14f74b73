/** A policy and a learner of the user's own, and what a run file may ask of them. */
import { Context, Effect, type Scope } from "effect";
import { isFixedLag } from "../config/fixedLag.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { listProblems } from "../config/show.ts";
import type { Version } from "../domain/Episode.ts";
import { BadInput, type PolicyError } from "../domain/Errors.ts";
import type { CustomPolicy } from "../generation/CustomPolicy.ts";
import type { Generator } from "../generation/Generator.ts";
import type { CustomLearner } from "../learner/CustomLearner.ts";
import type { Model } from "../model/Model.ts";
import type { EarlierVersion } from "../model/weights/Weights.ts";
import { enabledDrawings } from "../selection/diagnostics/Collapse.ts";

/** The parts of a replay around its models. */
export interface RecordedModels {
  /** Makes what answers for it, from the starting weights and the versions before them that are still needed. It is sent each version. */
  readonly generator: (
    model: Model,
    version: Version,
    earlier: readonly EarlierVersion[],
  ) => Effect.Effect<Generator, PolicyError, Scope.Scope>;
  /** Every update waits for this. */
  readonly beforeUpdate: Effect.Effect<void>;
}

export interface CustomModels {
  readonly recorded?: RecordedModels | undefined;
  readonly policy?: CustomPolicy | undefined;
  readonly learner?: CustomLearner | undefined;
}

/** The run's own models; none by default. */
export const CustomModels = Context.Reference<CustomModels>("millrace/engine/CustomModels", {
  defaultValue: () => ({}),
});

/** Fails with BadInput where the run file asks for something that the user's policy or learner does not do. */
export const checkCustomModels = (
  config: RunConfig,
  { learner, policy }: CustomModels,
): Effect.Effect<void, BadInput> => {
  const { generator, learner: learnerSection } = config.model;
  const problems = [
    ...(isFixedLag(config) && (policy !== undefined || learner !== undefined)
      ? [
          "pipeline.schedule: fixed_lag: a policy or a learner of one's own does not keep the weights of earlier windows; nearest: free_running",
        ]
      : []),
    ...(policy !== undefined && policy.adopt === undefined && learner === undefined
      ? [
          "policy: it has no adopt, so the weights that the built-in learner trains would never be used; nearest: adopt, or a learner of its own",
        ]
      : []),
    ...(policy !== undefined && generator.engine !== "local"
      ? [`model.generator.engine: ${generator.engine}: a policy of one's own takes its place; nearest: local`]
      : []),
    ...(policy !== undefined && config.pipeline.workers.url !== ""
      ? [
          `pipeline.workers.url: ${config.pipeline.workers.url}: workers sample from the model, and not from a policy of one's own; nearest: no workers`,
        ]
      : []),
    ...(learner !== undefined && learnerSection.engine !== "local"
      ? [`model.learner.engine: ${learnerSection.engine}: a learner of one's own takes its place; nearest: local`]
      : []),
    ...(learner !== undefined && config.trainer.gradient_analysis_mode
      ? ["trainer.gradient_analysis_mode: true: a learner of one's own does not analyse gradients; nearest: false"]
      : []),
    ...(learner !== undefined && enabledDrawings(config).length > 0
      ? [
          "diagnostics.collapse: a learner of one's own does not score thoughts; nearest: first_turn_enabled=false, multi_turn_enabled=false",
        ]
      : []),
  ];
  return problems.length === 0 ? Effect.void : Effect.fail(new BadInput({ message: listProblems(problems) }));
};
