/**
 * The progress of a step request, as a pure fold that synchronous and asynchronous environments share. Actions are executed in order until
 * the episode ends, or until the actions before have made the next one illegal. Action i draws its noise from the request's stream key
 * with i appended.
 */
import { type Info, mergeTurnInfo } from "../../domain/Info.ts";
import { type Random, stream } from "../../domain/Random.ts";
import type { BaseEnvironment } from "./BoundEnvironment.ts";
import type { BaseInfo, Transition } from "./Environment.ts";
import type { StepRequest, StepResult, View } from "./Environments.ts";

export interface Progress {
  readonly request: StepRequest;
  readonly state: unknown;
  readonly executed: number;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  readonly info: Info;
  /** The texts that answer the executed actions; empty ones for text actions. */
  readonly results: readonly string[];
}

export const begin = (request: StepRequest): Progress => ({
  request,
  state: request.state,
  executed: 0,
  reward: 0,
  terminated: false,
  truncated: false,
  success: false,
  info: {},
  results: [],
});

/** The action to execute now; null when the request is done. */
export const nextAction = (environment: BaseEnvironment, progress: Progress): string | null => {
  const { executed, request, state, terminated, truncated } = progress;
  const action = request.actions[executed];
  if (action === undefined || terminated || truncated) return null;
  if (executed > 0 && environment.actions(state)?.includes(action) === false) return null;
  return action;
};

/** The noise of the action to execute now. */
export const nextNoise = ({ executed, request }: Progress): Random =>
  stream({ ...request.noise, counters: [...request.noise.counters, executed] });

/** Keeps numbers, and booleans as 0 and 1; other fields do not become metrics. */
const numbers = (info: BaseInfo): Info =>
  Object.fromEntries(
    Object.entries(info).flatMap(([key, value]) =>
      typeof value === "number" || typeof value === "boolean" ? [[key, Number(value)]] : [],
    ),
  );

export const advance = (progress: Progress, transition: Transition<unknown, BaseInfo>): Progress => {
  return {
    request: progress.request,
    state: transition.state,
    executed: progress.executed + 1,
    reward: progress.reward + transition.reward,
    terminated: transition.terminated,
    truncated: transition.truncated,
    success: transition.info.success,
    info: mergeTurnInfo(progress.info, numbers(transition.info)),
    results: [...progress.results, transition.result ?? ""],
  };
};

export const viewOf = (environment: BaseEnvironment, state: unknown): View => ({
  state,
  observation: environment.render(state),
  compact: environment.compact(state),
  actions: environment.actions(state),
  contentKey: environment.contentKey(state),
});

export const resultOf = (
  environment: BaseEnvironment,
  { executed, info, results, reward, state, success, terminated, truncated }: Progress,
): StepResult => {
  const result = { view: viewOf(environment, state), executed, reward, terminated, truncated, success, info };
  return environment.tools === undefined ? result : { ...result, results };
};
