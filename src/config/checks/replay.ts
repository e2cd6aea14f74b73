/** Checks of `trainer.replay`: settings under which a run cannot be replayed from its folder. */
import type { Check } from "./Check.ts";
import { problemIf } from "./Check.ts";
import { isGeneratorRemote } from "./generator.ts";
import { isLearnerRemote } from "./learner.ts";

export const replay: Check = ({ model, pipeline, trainer }) => {
  if (!trainer.replay) return [];
  const line = (key: string, value: unknown, because: string, nearest: string): string =>
    `${key}: ${value}: under trainer.replay=true ${because}; nearest: ${nearest}`;
  return [
    ...problemIf(!trainer.log_replies, () =>
      line("trainer.log_replies", false, "replies are taken from their log", "true"),
    ),
    ...problemIf(pipeline.window_order !== "admission", () =>
      line("pipeline.window_order", pipeline.window_order, "windows must not depend on time", "admission"),
    ),
    ...problemIf(isGeneratorRemote(model), () =>
      line("model.generator.engine", model.generator.engine, "only a local generator records its caches", "local"),
    ),
    ...problemIf(isLearnerRemote(model), () =>
      line("model.learner.engine", model.learner.engine, "only a local learner tells its parameters", "local"),
    ),
    ...problemIf(pipeline.workers.url !== "", () =>
      line("pipeline.workers.url", pipeline.workers.url, "replies of workers are not logged", "no workers"),
    ),
  ];
};
