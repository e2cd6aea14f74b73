/** Checks of `pipeline.schedule: fixed_lag`: settings under which a run would not repeat itself, or that mean nothing there. */
import { exceedsNumbers, numbersOf } from "../fixedLag.ts";
import { type Check, problemIf } from "./Check.ts";
import { isGeneratorRemote } from "./generator.ts";
import { isLearnerRemote } from "./learner.ts";

export const schedule: Check = (config) => {
  if (config.pipeline.schedule !== "fixed_lag") return [];
  const { filter, generation, model, pipeline, trainer } = config;
  const line = (key: string, value: string, because: string, nearest: string) => () =>
    `${key}: ${value}: under pipeline.schedule=fixed_lag ${because}; nearest: ${nearest}`;
  return [
    ...problemIf(
      exceedsNumbers(config),
      line(
        "filter.refill.rounds",
        String(filter.refill.rounds),
        `each window has ${numbersOf(config)} group numbers, too many for trainer.total_training_steps (${trainer.total_training_steps}) windows`,
        "1, with a smaller filter.refill.batch",
      ),
    ),
    ...problemIf(
      pipeline.mode !== "async",
      line("pipeline.mode", pipeline.mode, "windows are played while earlier ones are trained on", "async"),
    ),
    ...problemIf(
      pipeline.window_order !== "admission",
      line(
        "pipeline.window_order",
        pipeline.window_order,
        "a window must not depend on which groups finish first",
        "admission",
      ),
    ),
    ...problemIf(
      generation.kv_on_update !== "keep",
      line(
        "generation.kv_on_update",
        generation.kv_on_update,
        "a sequence keeps its weights, so that no cache is ever out of date",
        "keep",
      ),
    ),
    ...problemIf(
      isGeneratorRemote(model),
      line(
        "model.generator.engine",
        model.generator.engine,
        "the generator keeps the weights of earlier windows, which a server does not",
        "local",
      ),
    ),
    ...problemIf(
      isLearnerRemote(model),
      line(
        "model.learner.engine",
        model.learner.engine,
        "the learner keeps the weights of earlier windows, which a server does not",
        "local",
      ),
    ),
    ...problemIf(
      pipeline.workers.url !== "",
      line(
        "pipeline.workers.url",
        pipeline.workers.url,
        "groups are played by weights that workers no longer have",
        "no workers",
      ),
    ),
  ];
};
