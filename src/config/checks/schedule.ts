/** Checks of `pipeline.schedule: fixed_lag`: settings under which a run would not repeat itself, or that mean nothing there. */
import type { RunConfig } from "../RunConfig.ts";
import type { Check } from "./Check.ts";
import { isGeneratorRemote } from "./generator.ts";
import { isLearnerRemote } from "./learner.ts";

/** A setting that does not go with a fixed lag, why, and the nearest one that does. */
interface Refusal {
  readonly isRefused: boolean;
  readonly key: string;
  readonly value: string;
  readonly because: string;
  readonly nearest: string;
}

const ordering = ({ generation, pipeline }: RunConfig): readonly Refusal[] => [
  {
    isRefused: pipeline.mode !== "async",
    key: "pipeline.mode",
    value: pipeline.mode,
    because: "windows are played while earlier ones are trained on",
    nearest: "async",
  },
  {
    isRefused: pipeline.window_order !== "admission",
    key: "pipeline.window_order",
    value: pipeline.window_order,
    because: "a window must not depend on which groups finish first",
    nearest: "admission",
  },
  {
    isRefused: generation.kv_on_update !== "keep",
    key: "generation.kv_on_update",
    value: generation.kv_on_update,
    because: "a sequence keeps its weights, so that no cache is ever out of date",
    nearest: "keep",
  },
];

const places = ({ model, pipeline }: RunConfig): readonly Refusal[] => [
  {
    isRefused: isGeneratorRemote(model),
    key: "model.generator.engine",
    value: model.generator.engine,
    because: "the generator keeps the weights of earlier windows, which a server does not",
    nearest: "local",
  },
  {
    isRefused: isLearnerRemote(model),
    key: "model.learner.engine",
    value: model.learner.engine,
    because: "the learner keeps the weights of earlier windows, which a server does not",
    nearest: "local",
  },
  {
    isRefused: pipeline.workers.url !== "",
    key: "pipeline.workers.url",
    value: pipeline.workers.url,
    because: "groups are played by weights that workers no longer have",
    nearest: "no workers",
  },
];

export const schedule: Check = (config) => {
  if (config.pipeline.schedule !== "fixed_lag") return [];
  return [...ordering(config), ...places(config)]
    .filter(({ isRefused }) => isRefused)
    .map(
      ({ because, key, nearest, value }) =>
        `${key}: ${value}: under pipeline.schedule=fixed_lag ${because}; nearest: ${nearest}`,
    );
};
