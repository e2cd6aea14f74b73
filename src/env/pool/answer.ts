/**
 * Answers one request by a pure environment, in a thread or inline. Invariant: an environment that throws affects no other request; the
 * answer is then `step_error`, or `step_crashed` where it wanted to end the process.
 */
import { stream } from "../../domain/Random.ts";
import { isProcessEnd } from "../../support/modules/processGuard.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import type { StepRequest, StepResult } from "../contract/Environments.ts";
import * as Progress from "../contract/Progress.ts";
import { messageOf } from "../contract/prepare.ts";
import { type Answer, type Request, stepFailure, tagOf } from "../contract/Request.ts";

const step = (environment: BoundEnvironment, request: StepRequest): StepResult => {
  let progress = Progress.begin(request);
  for (;;) {
    const action = Progress.nextAction(environment, progress);
    if (action === null) return Progress.resultOf(environment, progress);
    const transition = environment.step(progress.state, action, Progress.nextNoise(progress));
    progress = Progress.advance(progress, transition);
  }
};

/** Answers one request; `environments` are those of every tag. */
export const answer = (environments: ReadonlyMap<string, BoundEnvironment>, request: Request): Answer => {
  const environment = environments.get(tagOf(request));
  if (environment === undefined) return stepFailure("step_error", `no environment is bound to "${tagOf(request)}"`);
  try {
    if (request._tag === "Step") return { _tag: "Stepped", result: step(environment, request.step) };
    const { instance, split } = request.reset;
    return { _tag: "View", view: Progress.viewOf(environment, environment.reset(stream(instance), split)) };
  } catch (error) {
    return stepFailure(isProcessEnd(error) ? "step_crashed" : "step_error", messageOf(error));
  }
};
