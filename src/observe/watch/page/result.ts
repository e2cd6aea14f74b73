/** The result of a run in words: its validations with their intervals, and one summarising sentence. Pure. */
import type { RunCard, RunSummary } from "../Api.ts";
import { count, duration, percent } from "./format.ts";

export type Validation = NonNullable<RunSummary["validation"]["last"]>;

/** `54–70 %`, which does not break; empty where the interval is not known. */
export const intervalText = ({ interval }: Validation): string =>
  interval === null
    ? ""
    : `${percent(interval[0]).replace(/ %$/, "")}–${percent(interval[1])}`.replaceAll(" ", "\u00a0");

const withInterval = (validation: Validation): string => {
  const interval = intervalText(validation);
  return `${percent(validation.success)}${interval === "" ? "" : ` (${interval})`}`;
};

/** The facts in the sentence. */
type Outcome = Pick<RunSummary, "kind" | "minutes" | "steps" | "validation">;

const validated = ({ validation: { before, best, last } }: Outcome): string => {
  if (last === null)
    return before === null ? "no validation was played" : `validation success before was ${withInterval(before)}`;
  const course =
    before === null
      ? `validation success at the end is ${withInterval(last)}`
      : `validation success went from ${withInterval(before)} to ${withInterval(last)}`;
  const isBetter = best !== null && best.step !== last.step && best.success > last.success;
  return isBetter ? `${course}; the best was ${percent(best.success)} after step ${best.step}` : course;
};

const deeds: Readonly<Record<RunCard["state"], string>> = {
  running: "goes on",
  completed: "completed",
  stopped: "was stopped",
  failed: "failed",
  dead: "was killed",
};

/** The run's end, progress and validations. 95 % intervals are in parentheses. */
export const resultSentence = ({ name, state }: Pick<RunCard, "name" | "state">, summary: Outcome): string => {
  const { kind, minutes, steps, validation } = summary;
  const time = minutes === null ? "" : ` in ${duration(minutes * 60_000)}`;
  if (kind === "evaluation") {
    const { last } = validation;
    const success = last === null ? "nothing was measured" : `success is ${withInterval(last)}`;
    return `The evaluation ${name} ${deeds[state]}${time}: ${success}.`;
  }
  const planned =
    steps.planned === null || steps.planned === steps.done ? "" : ` of ${steps.planned.toLocaleString("en-US")}`;
  const far = planned === "" ? count(steps.done, "step") : `${steps.done.toLocaleString("en-US")}${planned} steps`;
  const course = state === "completed" ? `${name} completed ${far}` : `${name} ${deeds[state]} after ${far}`;
  return `${course}${time}: ${validated(summary)}.`;
};
