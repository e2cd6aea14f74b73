/** The generators of a training run load their code while the run is still checked. Its learner is needed later, and starts when they have. */
import { isGeneratorRemote } from "../config/checks/generator.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { generatorEntry } from "../generation/generatorEntry.ts";
import { startAhead, type ThreadEntry } from "../model/runtime/ThreadsAhead.ts";

const entriesOf = ({ model }: RunConfig): readonly ThreadEntry[] => {
  const generators = isGeneratorRemote(model) ? 0 : model.generator_threads;
  return Array.from({ length: generators }, (_, index) => generatorEntry(index));
};

/** Starts the threads that a run file asks for. One that nobody takes ends with the scope. */
export const startThreadsAhead = (config: RunConfig) => startAhead(entriesOf(config));
