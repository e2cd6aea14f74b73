/** `millrace control`: asks a running run for a change, as its page does. What the run refuses is bad input, in the run's words. */
import { Effect } from "effect";
import type { Control } from "../src/domain/Control.ts";
import { sendControl } from "../src/observe/control/ControlClient.ts";
import { runNameOf } from "../src/observe/control/ControlFile.ts";
import { namedRun } from "./namedRun.ts";

/** Sends an order to a run that is under way; returns lines that report it. */
export const control = Effect.fn("pipelines.control")(function* (options: {
  readonly run: string;
  readonly control: Control;
}) {
  const folder = yield* namedRun("RUN", options.run);
  yield* sendControl(folder, options.control, "shell");
  return [`${runNameOf(folder)}: ${reportOf(options.control)}`];
});

const reportOf = (control: Control): string => {
  switch (control._tag) {
    case "SetConcurrency":
      return `the concurrency of ${control.stage} is ${control.concurrency}`;
    case "PauseAdmission":
      return "admission is paused";
    case "ResumeAdmission":
      return "admission goes on";
    case "Validate":
      return "a validation follows the step under way";
    case "Checkpoint":
      return "a checkpoint follows the step under way";
    case "Stop":
      return "the run stops: groups in flight are finished, and a checkpoint is written";
  }
};
