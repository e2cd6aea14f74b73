/** The names of the controls on the page, and the reasons why one cannot be used. */

import type { Control } from "../../../../domain/Control.ts";
import type { RunCard } from "../../Api.ts";

/** The message after the run has carried out a control. */
export const doneText = (control: Control): string => {
  switch (control._tag) {
    case "SetConcurrency":
      if (control.stage === "lanes")
        return `An update has ${control.concurrency} ${control.concurrency === 1 ? "lane" : "lanes"} from the next window on.`;
      return `${control.stage} has ${control.concurrency} ${control.concurrency === 1 ? "slot" : "slots"} from here on.`;
    case "PauseAdmission":
      return "Admission is paused. What is in flight goes on.";
    case "ResumeAdmission":
      return "Admission goes on.";
    case "Validate":
      return "A validation follows the step under way.";
    case "Checkpoint":
      return "A checkpoint follows the step under way.";
    case "Stop":
      return "The run stops: groups in flight are finished, and a checkpoint is written.";
  }
};

/** The reason why a run takes no controls at this moment; null if it does. */
export const refusalText = (
  run: RunCard,
  { lost, past }: { readonly past: boolean; readonly lost: boolean },
): string | null => {
  if (run.state !== "running") return `The run is over (${run.state}).`;
  if (lost) return "The page's server does not answer.";
  if (past) return "You look at a past moment: go back to live first.";
  return run.controllable
    ? null
    : "The run cannot be reached from here: it runs on another machine, or without controls.";
};
