/**
 * The package from code, as `millrace`: start a training, watch it, stop it, and put parts of one's own in place of the usual ones. Everything
 * else of this package may change without notice.
 */
import { checkOptions, type OptionNames } from "./checkOptions.ts";
import { type Changes, compose } from "./compose.ts";
import { promiseOf } from "./promises.ts";
import type { OwnModules } from "./RunFile.ts";
import { type StartOptions, start, type TrainingRun } from "./TrainingRun.ts";

export type { RunConfig } from "../src/config/RunConfig.ts";
export type { TokenBatch } from "../src/domain/Batch.ts";
export type { Control, Controller } from "../src/domain/Control.ts";
export {
  type Episode,
  type Outcome,
  penaltyOf,
  rewardOf,
  type Sampled,
  type Sequence,
  succeeded,
  type Turn,
  turnsOf,
} from "../src/domain/Episode.ts";
export {
  BadInput,
  CheckpointSpaceError,
  EnvironmentError,
  LearnerError,
  PolicyError,
  RunStalled,
} from "../src/domain/Errors.ts";
export type { Event, StepRecord } from "../src/domain/Event.ts";
export type { Group, Prompt, ScoredEpisode, ScoredGroup, ScoredWindow } from "../src/domain/Group.ts";
export type { MetricKey } from "../src/domain/metrics/Catalogue.ts";
export type { RunState } from "../src/domain/RunState.ts";
export type { RewardFunction } from "../src/engine/reward.ts";
export type { JudgedWindow } from "../src/engine/stages/filter.ts";
export type { LearnedWindow } from "../src/engine/stages/learn.ts";
export type { ScoreOutput } from "../src/engine/stages/score.ts";
export type { TrainingResult } from "../src/engine/Training.ts";
export * as Admission from "../src/flow/admission/Admission.ts";
export * as Pipeline from "../src/flow/Pipeline.ts";
export * as Stage from "../src/flow/Stage.ts";
export type { AssembledWindow } from "../src/flow/WindowAssembler.ts";
export type { CustomPolicy, CustomReply, ReplyRequest } from "../src/generation/CustomPolicy.ts";
export type { Sampling } from "../src/generation/Policy.ts";
export type { CustomLearner, CustomUpdate, LearnerContext } from "../src/learner/CustomLearner.ts";
export type { CustomModelContext, ModelWeights } from "../src/model/CustomModelContext.ts";
export { csv } from "../src/observe/sinks/csv.ts";
export type { Sink } from "../src/observe/sinks/Sink.ts";
export type { Selection } from "../src/selection/filtering/filter.ts";
export { StoppedEarly } from "../src/support/process/Stop.ts";
export { type CloningRun, type SftOptions, sft } from "./CloningRun.ts";
export { type Changes, compose } from "./compose.ts";
export { type Evaluation, type EvaluationOptions, evaluate } from "./Evaluation.ts";
export { type OpenPolicy, openPolicy } from "./OpenPolicy.ts";
export type { PlayOptions } from "./policyPlay.ts";
export type { GeneratedReply, GenerateOptions, Message } from "./policyReply.ts";
export type { OwnEnvironments, OwnModule, OwnModules, PartOf, RunFile } from "./RunFile.ts";
export type { ClonedModel, MeasuredStep as CloningStep } from "./sft.ts";
export {
  type StageName,
  type StageOutputs,
  type StageView,
  type StartOptions,
  type Step,
  start,
  type TrainingRun,
} from "./TrainingRun.ts";
export type { Parts } from "./train.ts";

/** Options of `train`: modules that the run's threads load, and parts of one's own in the process that calls. */
export interface TrainOptions extends OwnModules, StartOptions {}

const optionNames: OptionNames<TrainOptions> = {
  advantages: true,
  environments: true,
  filter: true,
  learner: true,
  policy: true,
  policyLoss: true,
  resume: true,
  reward: true,
  signals: true,
  sinks: true,
};

/**
 * Trains a run file, by name (of those in the package) or path. `changes` are part of a run file, or overrides "key.sub=value". Resolves once the
 * first group may start; rejects with BadInput, PolicyError, LearnerError or EnvironmentError where the run cannot begin.
 */
export const train = async (name: string, changes: Changes = {}, options: TrainOptions = {}): Promise<TrainingRun> => {
  await promiseOf(checkOptions("train", options, optionNames));
  return start(await compose(name, changes, options), options);
};
