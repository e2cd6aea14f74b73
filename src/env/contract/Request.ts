/** One request to an environment and its answer, as values. Both are structured-cloneable, because they cross to threads and back. */
import type { ResetRequest, StepFailure, StepRequest, StepResult, View } from "./Environments.ts";

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

/** The tag of the preset that a request is for. */
export const tagOf = (request: Request): string => (request._tag === "Reset" ? request.reset.tag : request.step.tag);
