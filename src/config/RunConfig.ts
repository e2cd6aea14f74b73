/**
 * The schema of the run file: one section for each part of the program, with RAGEN's values as defaults.
 * The environments and wrappers themselves decode `env_config` and `wrappers` of a preset in `custom_envs`.
 */
import { Schema } from "effect";
import { field, section } from "./field.ts";
import { ActorSection } from "./sections/ActorSection.ts";
import { AgentSection } from "./sections/AgentSection.ts";
import { AlgorithmSection } from "./sections/AlgorithmSection.ts";
import { CriticSection } from "./sections/CriticSection.ts";
import { DiagnosticsSection } from "./sections/DiagnosticsSection.ts";
import { EvaluationSection, OutputSection } from "./sections/EvaluationSection.ts";
import { FilterSection } from "./sections/FilterSection.ts";
import { GenerationSection } from "./sections/GenerationSection.ts";
import { ManagerSection } from "./sections/ManagerSection.ts";
import { MetricsSection } from "./sections/MetricsSection.ts";
import { ModelSection } from "./sections/ModelSection.ts";
import { PipelineSection } from "./sections/PipelineSection.ts";
import { PresetSection } from "./sections/PresetSection.ts";
import { RewardSection } from "./sections/RewardSection.ts";
import { RolloutSection } from "./sections/RolloutSection.ts";
import { RunSection } from "./sections/RunSection.ts";
import { SftSection } from "./sections/SftSection.ts";
import { TrainerSection } from "./sections/TrainerSection.ts";

export type { Preset } from "./sections/PresetSection.ts";
export {
  ActorSection,
  AlgorithmSection,
  CriticSection,
  GenerationSection,
  ModelSection,
  PipelineSection,
  PresetSection,
};

export const RunConfig = Schema.Struct({
  run: section(RunSection, "Name, folder and seed of the run."),
  trainer: section(TrainerSection, "Length of the run, validations, checkpoints and early stops."),
  pipeline: section(PipelineSection, "Stages of the pipeline and their admission."),
  model: section(ModelSection, "The policy's weights, and the machines that run it."),
  es_manager: section(ManagerSection, "Environments of training and validation."),
  rollout: section(RolloutSection, "Prompts, turns and lengths of episodes."),
  generation: section(GenerationSection, "Slots and sampling of the generator."),
  reward: section(RewardSection, "Normalisation of rewards to scores."),
  filter: section(FilterSection, "SNR-adaptive filter of groups."),
  algorithm: section(AlgorithmSection, "Advantages, divergences in the reward and off-policy corrections."),
  actor: section(ActorSection, "Update of the policy."),
  critic: section(CriticSection, "Update of the critic."),
  diagnostics: section(DiagnosticsSection, "Measurements of the policy's thoughts."),
  sft: section(SftSection, "Behaviour cloning."),
  metrics: section(MetricsSection, "Sinks of metrics, events and traces."),
  evaluation: section(EvaluationSection, "Players of an evaluation."),
  output: section(OutputSection, "Copy of an evaluation's episodes as a file."),
  agent: section(AgentSection, "An agent of your own that is trained through an endpoint."),
  custom_envs: field(Schema.Record(Schema.String, PresetSection), {}, "Environment presets by tag."),
});

/** A resolved run file: every key has a value. */
export type RunConfig = typeof RunConfig.Type;
