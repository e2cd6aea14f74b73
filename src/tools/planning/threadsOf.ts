/** The threads of a run by its run file. Checks that come before any thread read them here, without the models that plans are made of. */
import { isGeneratorRemote } from "../../config/checks/generator.ts";
import type { PlannedRun } from "./PlannedRun.ts";

/** Counts the threads of each kind; the main thread is not among them. */
export const threadsOf = ({
  config: { model, pipeline: stages },
  pipeline,
}: Pick<PlannedRun, "config" | "pipeline">) => ({
  // Servers generate for training; an evaluation plays here.
  generators: pipeline === "sft" || (pipeline === "train" && isGeneratorRemote(model)) ? 0 : model.generator_threads,
  lanes: pipeline === "evaluate" ? 0 : model.learner_lanes,
  steps: pipeline === "sft" || stages.step_inline ? 0 : stages.step_threads,
});
