/** The threads of a training run that load their code while the run is still checked: its generators and its learner. */
import { isGeneratorRemote } from "../config/checks/generator.ts";
import { isLearnerRemote } from "../config/checks/learner.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { startAhead, type ThreadEntry } from "../model/runtime/ThreadsAhead.ts";

const entriesOf = ({ model }: RunConfig): readonly ThreadEntry[] => {
  const generators = isGeneratorRemote(model) ? 0 : model.generator_threads;
  const url = new URL("../generation/worker.ts", import.meta.url);
  const learner = { url: new URL("../learner/worker.ts", import.meta.url), name: "learner" };
  return [
    ...Array.from({ length: generators }, (_, index) => ({ url, name: `generator-${index}` })),
    ...(isLearnerRemote(model) ? [] : [learner]),
  ];
};

/** Starts the threads that a run file asks for. Where one is never needed, it ends with the scope. */
export const startThreadsAhead = (config: RunConfig) => startAhead(entriesOf(config));
