/**
 * What one request comes to, wherever it runs: a pure function of the bound environments and the request, shared by the threads and the
 * inline variant. Everything that enters and leaves is structured-cloneable. Invariant: an environment that throws is an answer
 * (`step_error`), and spoils nobody else's.
 */
import { stream } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../BoundEnvironment.ts";
import type { ResetRequest, StepFailure, StepRequest, StepResult, View } from "../Environments.ts";

export type Request =
  | { readonly _tag: "Reset"; readonly reset: ResetRequest }
  | { readonly _tag: "Step"; readonly step: StepRequest };

export type Answer =
  | { readonly _tag: "View"; readonly view: View }
  | { readonly _tag: "Stepped"; readonly result: StepResult }
  | StepFailure;

export const stepFailure = (reason: StepFailure["reason"], message: string): StepFailure => ({
  _tag: "StepFailure",
  reason,
  message,
});

const viewOf = (environment: BoundEnvironment, state: unknown): View => ({
  state,
  observation: environment.render(state),
  compact: environment.compact(state),
  actions: environment.actions(state),
  contentKey: environment.contentKey(state),
});

/**
 * Executes the actions in order until the episode ends, or until one is no longer legal because those before it changed what is.
 * Action i draws its noise from the request's stream key with i appended.
 */
const step = (environment: BoundEnvironment, { actions, noise, state: before }: StepRequest): StepResult => {
  let state = before;
  let executed = 0;
  let reward = 0;
  let ended = { terminated: false, truncated: false, success: false };
  const info: Record<string, number> = {};
  for (const action of actions) {
    if (executed > 0 && environment.actions(state)?.includes(action) === false) break;
    const draws = stream({ ...noise, counters: [...noise.counters, executed] });
    const transition = environment.step(state, action, draws);
    state = transition.state;
    reward += transition.reward;
    executed++;
    for (const [key, value] of Object.entries(transition.info)) {
      if (typeof value === "number" || typeof value === "boolean") info[key] = (info[key] ?? 0) + Number(value);
    }
    const { terminated, truncated } = transition;
    ended = { terminated, truncated, success: transition.info.success };
    if (terminated || truncated) break;
  }
  return { view: viewOf(environment, state), executed, reward, ...ended, info };
};

export const tagOf = (request: Request): string => (request._tag === "Reset" ? request.reset.tag : request.step.tag);

/** Answers one request; `environments` holds every tag. */
export const answer = (environments: ReadonlyMap<string, BoundEnvironment>, request: Request): Answer => {
  const environment = environments.get(tagOf(request));
  if (environment === undefined) return stepFailure("step_error", `no environment is bound to "${tagOf(request)}"`);
  try {
    if (request._tag === "Step") return { _tag: "Stepped", result: step(environment, request.step) };
    const { instance, split } = request.reset;
    return { _tag: "View", view: viewOf(environment, environment.reset(stream(instance), split)) };
  } catch (error) {
    return stepFailure("step_error", error instanceof Error ? error.message : String(error));
  }
};
