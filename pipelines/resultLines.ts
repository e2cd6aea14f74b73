/**
 * Renders the end of a training or a cloning: its outcome, the folder of its weights, and the commands that continue
 * from there. Pure.
 */
import { join, relative } from "node:path";
import type { CloningResult, RunResult, ValidationResult } from "../src/observe/record/RunResult.ts";

const percent = (share: number): string => String(Number((share * 100).toFixed(1)));

/** `62.5 % [58.1, 66.6]`. */
const shareText = ({ interval, success }: ValidationResult): string =>
  interval === null
    ? `${percent(success)} %`
    : `${percent(success)} % [${percent(interval[0])}, ${percent(interval[1])}]`;

const playedText = ({ episodes, failed, instances }: ValidationResult): readonly string[] => {
  if (instances === null || episodes === null) return [];
  const each = episodes === instances ? "" : `, ${episodes} episodes`;
  const lost = failed === 0 ? "" : `, ${failed} of which could not be played`;
  return [`95 % interval, ${instances} instances${each}${lost}`];
};

const validationLine = ({ before, best, last }: RunResult["validation"]): readonly string[] => {
  const newest = last ?? before;
  if (newest === null) return [];
  const change =
    before === null || last === null
      ? shareText(newest)
      : `${shareText(before)} before -> ${shareText(last)} after step ${last.step}`;
  const peak =
    best === null || best.step === before?.step || best.success <= newest.success
      ? []
      : [`best ${shareText(best)} after step ${best.step}`];
  return [`validation   ${[change, ...peak, ...playedText(newest)].join("; ")}`];
};

const minutesText = (minutes: number): string =>
  minutes < 1 ? `${Math.round(minutes * 60)} seconds` : `${minutes.toFixed(1)} minutes`;

const endText = ({ end }: RunResult): string => {
  switch (end._tag) {
    case "Completed":
      return "completed";
    case "Stopped":
      return `stopped (${end.reason.replaceAll("_", " ")})`;
    case "Failed":
      return "failed";
    case "Running":
      return "running";
    case "Killed":
      return "cut off";
  }
};

const stepsText = ({ minutes, steps: { done, planned } }: RunResult): string => {
  const steps = planned === null ? `${done} steps` : `${done} of ${planned} steps`;
  return minutes === null ? steps : `${steps} in ${minutesText(minutes)}`;
};

/** Writes a word as a POSIX shell reads it. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The shorter of the paths that lead from `directory` to a place. */
const pathFrom = (directory: string, path: string): string => {
  const way = relative(directory, path);
  return way.startsWith("..") || way === "" ? path : way;
};

export interface Place {
  /** The directory that the commands are pasted in. */
  readonly directory: string;
  /** The program's name in printed commands: `millrace`, or `npx millrace` where it is not on the path. */
  readonly program: string;
}

/** The overrides that name what was cloned: a model's folder, or an adapter beside its base. */
const modelOverrides = ({ base, output }: CloningResult, directory: string): readonly string[] => {
  const folder = pathFrom(directory, output);
  const keys =
    base === null ? [`model.path=${folder}`] : [`model.path=${pathFrom(directory, base)}`, `model.adapter=${folder}`];
  return keys.map(quoted);
};

/** Commands that work when they are pasted: an evaluation plays the checkpoint under the run's own configuration. */
export const nextCommands = (
  { checkpoint, cloning, folder }: RunResult,
  { directory, program }: Place,
): readonly string[] => {
  const run = quoted(pathFrom(directory, folder));
  const config = quoted(pathFrom(directory, join(folder, "config.yaml")));
  if (cloning !== null) {
    const words = [config, ...modelOverrides(cloning, directory)].join(" ");
    return ["evaluate", "train"].map((command) => `${program} ${command} --config-name ${words}`);
  }
  const newest = checkpoint.best ?? checkpoint.newest;
  const model = newest === null ? null : quoted(`model.path=${pathFrom(directory, newest.path)}`);
  return [
    `${program} watch ${run}`,
    `${program} report ${run}`,
    ...(model === null ? [] : [`${program} evaluate --config-name ${config} ${model}`]),
  ];
};

const lossLine = ({ heldOutLoss, loss }: CloningResult): readonly string[] => {
  const parts = [
    ...(loss === null ? [] : [`${loss.toFixed(4)} nats a token in the last step`]),
    ...(heldOutLoss === null ? [] : [`${heldOutLoss.toFixed(4)} of the conversations held out`]),
  ];
  return parts.length === 0 ? [] : [`loss         ${parts.join("; ")}`];
};

/** Weights of a training are its checkpoints; what was cloned lies in a folder of its own. */
const weightsLines = ({ checkpoint: { best, newest }, cloning }: RunResult, directory: string): readonly string[] => {
  const from = (path: string): string => pathFrom(directory, path);
  if (cloning !== null) return [`${cloning.base === null ? "model  " : "adapter"}      ${from(cloning.output)}`];
  const other = best === null || best.step === newest?.step ? "" : `; best ${from(best.path)}`;
  return newest === null ? [] : [`checkpoint   ${from(newest.path)}${other}`];
};

export const resultLines = (result: RunResult, place: Place): readonly string[] => {
  const failed = result.failedShare ?? 0;
  return [
    "",
    `${result.name}: ${endText(result)}, ${stepsText(result)}`,
    ...validationLine(result.validation),
    ...(result.cloning === null ? [] : lossLine(result.cloning)),
    ...(failed > 0 ? [`failed       ${percent(failed)} % of the training episodes could not be played to an end`] : []),
    ...weightsLines(result, place.directory),
    "next",
    ...nextCommands(result, place).map((command) => `  ${command}`),
  ];
};
