/**
 * The schema of the run file: a section for each part of the program, with RAGEN's values as defaults. Of an environment preset
 * (`custom_envs`) it decodes all but `env_config` and `wrappers`, which their environment and wrappers decode.
 */
import { Schema } from "effect";
import { field, section } from "./field.ts";
import { ActorSection } from "./sections/ActorSection.ts";
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
  run: section(RunSection, "The run's name and folder."),
  trainer: section(TrainerSection, "How long, how often."),
  pipeline: section(PipelineSection, "Stages and their admission."),
  model: section(ModelSection, "The policy."),
  es_manager: section(ManagerSection, "Which environments, how many."),
  rollout: section(RolloutSection, "Episodes."),
  generation: section(GenerationSection, "The generator."),
  reward: section(RewardSection, "Scores."),
  filter: section(FilterSection, "SNR-adaptive filter."),
  algorithm: section(AlgorithmSection, "Advantages and corrections."),
  actor: section(ActorSection, "Policy update."),
  critic: section(CriticSection, "Value update."),
  diagnostics: section(DiagnosticsSection, "What the policy's thoughts and gradients say of it."),
  sft: section(SftSection, "Behaviour cloning."),
  metrics: section(MetricsSection, "Sinks."),
  evaluation: section(EvaluationSection, "Who plays an evaluation."),
  output: section(OutputSection, "The episodes of an evaluation as a file."),
  custom_envs: field(Schema.Record(Schema.String, PresetSection), {}, "Environment presets by tag."),
});
export type RunConfig = typeof RunConfig.Type;
