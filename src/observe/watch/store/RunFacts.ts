/** What a run's folder says of the run as a whole: its first line of events.jsonl, or else its config.yaml; and whether it still runs. */
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

/** Of a run without events. */
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
  /** Another machine's process counts as running: it cannot be seen from here. */
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

/** Whether the folder is an evaluation's that has ended: its summary is written last. */
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
