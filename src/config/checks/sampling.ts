/** Checks of sampling. */
import { type Check, problemIf } from "./Check.ts";

export const sampling: Check = ({ generation }) => [
  ...problemIf(
    generation.top_k === 0 || generation.top_k < -1,
    () => `generation.top_k: ${generation.top_k}: expected -1 (all tokens) or at least 1; nearest: -1`,
  ),
  ...problemIf(
    generation.top_k >= 1 && !generation.allow_truncated_sampling,
    () =>
      `generation.top_k: ${generation.top_k}: truncated sampling biases the importance weights; nearest: -1, or set generation.allow_truncated_sampling=true`,
  ),
  ...problemIf(
    generation.top_p < 1 && !generation.allow_truncated_sampling,
    () =>
      `generation.top_p: ${generation.top_p}: truncated sampling biases the importance weights; nearest: 1, or set generation.allow_truncated_sampling=true`,
  ),
  ...problemIf(
    generation.temperature === 0,
    () => "generation.temperature: 0: training samples; expected a number above 0; nearest: 1",
  ),
];

/** Below this a temperature is numerically greedy; 0 says so exactly. */
const minTemperature = 0.01;

export const temperatures: Check = ({ es_manager, generation }) =>
  [
    { key: "generation.temperature", value: generation.temperature },
    { key: "es_manager.val.temperature", value: es_manager.val.temperature },
  ].flatMap(({ key, value }) =>
    problemIf(
      value > 0 && value < minTemperature,
      () => `${key}: ${value}: expected at least ${minTemperature}; nearest: ${minTemperature}`,
    ),
  );
