/**
 * What one request comes to, wherever it runs: a pure function of the bound environments and the request, shared by the threads and the
 * inline variant. Everything that enters and leaves is structured-cloneable. Invariant: an environment that throws is an answer
 * (`step_error`), and spoils nobody else's.
 */
import { stream } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../BoundEnvironment.ts";
import type { ResetRequest, StepFailure, StepRequest, StepResult, View } from "../Environments.ts";
import * as Progress from "../Progress.ts";
import { sentenceOf } from "../prepare.ts";

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

const step = (environment: BoundEnvironment, request: StepRequest): StepResult => {
  let progress = Progress.begin(request);
  for (;;) {
    const action = Progress.next(environment, progress);
    if (action === null) return Progress.resultOf(environment, progress);
    const transition = environment.step(progress.state, action, Progress.noise(progress));
    progress = Progress.after(progress, transition);
  }
};

export const tagOf = (request: Request): string => (request._tag === "Reset" ? request.reset.tag : request.step.tag);

/** Answers one request; `environments` holds every tag. */
export const answer = (environments: ReadonlyMap<string, BoundEnvironment>, request: Request): Answer => {
  const environment = environments.get(tagOf(request));
  if (environment === undefined) return stepFailure("step_error", `no environment is bound to "${tagOf(request)}"`);
  try {
    if (request._tag === "Step") return { _tag: "Stepped", result: step(environment, request.step) };
    const { instance, split } = request.reset;
    return { _tag: "View", view: Progress.viewOf(environment, environment.reset(stream(instance), split)) };
  } catch (error) {
    return stepFailure("step_error", sentenceOf(error));
  }
};
