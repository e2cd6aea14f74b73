/** The marks of the slider, from the lines of events.jsonl. Pure. */
import { textOf as alarmText } from "../../../domain/alarms/text.ts";
import type { Control } from "../../../domain/Control.ts";
import type { EventLine } from "../../record/events/EventLine.ts";
import { duration } from "../../sinks/format.ts";
import { serverText, validationText } from "../../sinks/View.ts";
import type { Mark } from "../Api.ts";

const controlText = (control: Control): string => {
  switch (control._tag) {
    case "SetConcurrency":
      return `${control.stage}: concurrency ${control.concurrency}`;
    case "PauseAdmission":
      return "admission paused";
    case "ResumeAdmission":
      return "admission resumed";
    case "Validate":
      return "validation asked for";
    case "Checkpoint":
      return "checkpoint asked for";
    case "Stop":
      return "stop asked for";
  }
};

/** Tags of the lines that make a mark. */
export const markTags: ReadonlySet<string> = new Set([
  "Validated",
  "CheckpointWritten",
  "CheckpointSkipped",
  "ReplyLogEnded",
  "Controlled",
  "Stalled",
  "ServerChanged",
  "Resumed",
  "UpdateSkipped",
  "AlarmRaised",
  "AlarmEnded",
  "End",
]);

const textOf = (line: EventLine): { readonly kind: Mark["kind"]; readonly text: string } | null => {
  switch (line._tag) {
    case "Validated":
      return { kind: "validation", text: validationText(line) };
    case "CheckpointWritten":
      return { kind: "checkpoint", text: `checkpoint of step ${line.step}` };
    case "CheckpointSkipped":
      return { kind: "skipped", text: `no checkpoint of step ${line.step}: ${line.reason}` };
    case "ReplyLogEnded":
      return { kind: "skipped", text: `replies are not logged any more: ${line.reason}` };
    case "Controlled": {
      const what = controlText(line.control);
      return { kind: "control", text: line.reason === undefined ? what : `${what}: ${line.reason}` };
    }
    case "Stalled":
      return { kind: "stall", text: [`nothing happened for ${duration(line.silentMs)}`, ...line.lines].join("\n") };
    case "ServerChanged":
      // Later attempts of a series make no mark; the page shows them at their moment.
      return line.state._tag === "Retrying" && line.state.attempt > 1
        ? null
        : { kind: "server", text: serverText(line) };
    case "Resumed":
      return { kind: "resume", text: `goes on from step ${line.step}` };
    case "AlarmRaised":
      return { kind: "alarm", text: alarmText(line) };
    case "AlarmEnded":
      return { kind: "alarm", text: `no longer so: ${line.title}` };
    case "UpdateSkipped":
      return { kind: "skipped", text: line.reason };
    case "End":
      return { kind: "end", text: line.message === "" ? line.outcome : `${line.outcome}: ${line.message}` };
    default:
      return null;
  }
};

/** The mark of a line; null if it makes none. */
export const markOf = (line: EventLine): Mark | null => {
  const content = textOf(line);
  if (content === null) return null;
  const mark = { at: line.at, step: line.step, ...content };
  if (line._tag === "Controlled") return { ...mark, control: line.control, by: line.by };
  return line._tag === "End" ? { ...mark, outcome: line.outcome } : mark;
};
