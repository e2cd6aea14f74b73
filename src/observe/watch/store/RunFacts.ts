/**
 * The settings of a run as its folder has them: in the first line of events.jsonl, or else in config.yaml. Also whether the run
 * still goes on.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { Result } from "effect";
import { get } from "../../../config/Tree.ts";
import { readYaml } from "../../../config/yamlText.ts";
import { readShortText } from "../../../support/files/regularFile.ts";
import { CONTROL } from "../../control/ControlFile.ts";
import type { RunLine } from "../../record/events/RunLine.ts";
import { writerStatus } from "../../record/RunLock.ts";
import type { RunCard, RunStatus } from "../Api.ts";

export type RunFacts = Pick<RunCard, "mode" | "maxStaleness" | "seed" | "steps">;

/** A resolved configuration is shorter. */
const LONGEST_CONFIG = 2 ** 20;

export const configText = (folder: string): Promise<string | null> =>
  readShortText(join(folder, "config.yaml"), LONGEST_CONFIG);

const number = (value: unknown): number => (typeof value === "number" ? value : 0);

const modes = ["lockstep", "sync", "async"] as const;

/** The facts of a run without events. */
export const factsOfConfig = (text: string): RunFacts => {
  const tree = Result.getOrElse(readYaml(text), () => null);
  const mode = get(tree, ["pipeline", "mode"]);
  return {
    mode: modes.find((each) => each === mode) ?? "sync",
    maxStaleness: number(get(tree, ["pipeline", "max_staleness"])),
    seed: number(get(tree, ["run", "seed"])),
    steps: number(get(tree, ["trainer", "total_training_steps"])),
  };
};

export const factsOfLine = ({ maxStaleness, mode, seed, steps }: RunLine): RunFacts => ({
  mode,
  maxStaleness,
  seed,
  steps,
});

export interface RunLiveness {
  /** A process of another machine counts as running, because this one cannot see it. */
  readonly isRunning: boolean;
  readonly controllable: boolean;
}

export const livenessOf = async (folder: string): Promise<RunLiveness> => {
  const holder = await writerStatus(folder);
  const listens = await access(join(folder, CONTROL), constants.R_OK).then(
    () => true,
    () => false,
  );
  return { isRunning: holder === "running" || holder === "unseen", controllable: holder === "running" && listens };
};

/** True for the folder of an evaluation that has ended: its summary is written last. */
export const hasEvaluationSummary = (folder: string): Promise<boolean> =>
  access(join(folder, "summary.json"), constants.R_OK).then(
    () => true,
    () => false,
  );

export const statusOf = (runs: boolean, ended: { readonly outcome: RunStatus } | null, whole: boolean): RunStatus => {
  if (runs) return "running";
  if (ended !== null) return ended.outcome;
  return whole ? "completed" : "dead";
};
