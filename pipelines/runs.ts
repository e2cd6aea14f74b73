/** `millrace runs`: the runs in some folders and below them, with what came of each. */
import { basename, dirname, relative } from "node:path";
import { Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { runsBelow } from "../src/observe/record/RunFolders.ts";
import type { RunEnd, RunResult, ValidationResult } from "../src/observe/record/RunResult.ts";
import { readRunResult } from "../src/observe/record/readRunResult.ts";
import { existingFolder } from "./paths.ts";
import { table } from "./table.ts";

const endText = (end: RunEnd): string => {
  switch (end._tag) {
    case "Completed":
      return "completed";
    case "Running":
      return "running";
    case "Killed":
      return "killed";
    case "Stopped":
      return "stopped";
    case "Failed":
      return "failed";
  }
};

const percent = (share: number): string => (100 * share).toFixed(1);

const validationText = (validation: ValidationResult | null): string => {
  if (validation === null) return "-";
  const { interval, success } = validation;
  return interval === null ? percent(success) : `${percent(success)} [${interval.map(percent).join(", ")}]`;
};

const stepsText = ({ kind, steps: { done, planned } }: RunResult): string => {
  if (kind === "evaluation") return "evaluation";
  const steps = planned === null ? String(done) : `${done}/${planned}`;
  return kind === "cloning" ? `sft ${steps}` : steps;
};

/** The result of a run at its end: success, or of cloning its loss, that of the conversations held out where there were any. */
const lastText = ({ cloning, validation }: RunResult): string => {
  const loss = cloning?.heldOutLoss ?? cloning?.loss ?? null;
  return loss === null ? validationText(validation.last) : `loss ${loss.toFixed(4)}`;
};

const head = ["RUN", "STATE", "STEPS", "MINUTES", "BEFORE %", "BEST %", "LAST %"];

/** A run as a user would name it. */
const nameOf = ({ folder }: RunResult): string => {
  const fromHere = relative(process.cwd(), folder);
  return fromHere.startsWith("..") ? folder : fromHere;
};

const row = (result: RunResult): readonly string[] => [
  nameOf(result),
  endText(result.end),
  stepsText(result),
  result.minutes === null ? "-" : result.minutes.toFixed(1),
  validationText(result.validation.before),
  validationText(result.validation.best),
  lastText(result),
];

/** Runs of one name together, the oldest first; names by their newest run, the newest last. */
const inOrder = (folders: readonly string[]): readonly string[] => {
  const names = [...Map.groupBy(folders, dirname).values()];
  const newest = (runs: readonly string[]): string => basename(runs.at(-1) ?? "");
  return names.toSorted((a, b) => (newest(a) < newest(b) ? -1 : 1)).flat();
};

const whereMade = "millrace train makes one in runs/NAME of the folder in which it is started";

/** If no folder's name is near, the message names the folder in which runs are created. */
const orWhereMade = ({ message }: BadInput): BadInput =>
  new BadInput({ message: message.includes("; nearest: ") ? message : `${message}; ${whereMade}` });

export interface RunsOptions {
  readonly folders: readonly string[];
  readonly json: boolean;
}

/** The list, as lines. */
export const runs = Effect.fn("pipelines.runs")(function* ({ folders, json }: RunsOptions) {
  const roots = yield* Effect.forEach(folders, (folder) => Effect.mapError(existingFolder("DIR", folder), orWhereMade));
  const found = inOrder([...new Set(roots.flatMap((root) => runsBelow(root)))]);
  if (found.length === 0) {
    const message = `runs: ${folders.map(showValue).join(", ")}: no run lies there; ${whereMade}`;
    return yield* new BadInput({ message });
  }
  // One after the other: a run's metrics may be a large file.
  const results = yield* Effect.forEach(found, (folder) => Effect.promise(() => readRunResult(folder)));
  return json ? [JSON.stringify(results, null, 2)] : table([head, ...results.map(row)]);
});
