/**
 * Reads the result of a run from its folder in any state: running, finished, killed, damaged, or written by another program.
 * Invariant: it never rejects, reads only regular files of the folder itself, and holds one line of a file at a time.
 */
import { readlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Effect, Result } from "effect";
import { isTree, type Tree } from "../../config/Tree.ts";
import { readYaml } from "../../config/yamlText.ts";
import type { RunOutcome } from "../../domain/RunOutcome.ts";
import { MANIFEST } from "../../support/files/Manifest.ts";
import { parseObject, readLines } from "../../support/files/readLines.ts";
import { readRange, readShortText, withFile } from "../../support/files/regularFile.ts";
import * as StepFolders from "../../support/files/StepFolders.ts";
import { CLONING, type CloningRecord, cloningRecordOf } from "./CloningRecord.ts";
import { decode } from "./events/EventLine.ts";
import { hasWriter } from "./RunLock.ts";
import {
  type CheckpointPlace,
  type EvaluationResult,
  evaluationOf,
  planOf,
  type RunEnd,
  type RunPlan,
  type RunResult,
  StepRecords,
  type ValidationOutcomes,
  type ValidationResult,
  validationOf,
} from "./RunResult.ts";

/** A resolved configuration, and an evaluation's summary, are shorter. */
const LONGEST_TEXT = 2 ** 20;

/** Uses a file while `use` runs; null if it is missing or cannot be read. */
const withReadableFile: typeof withFile = (path, use) => withFile(path, use).catch(() => null);

/** Calls `use` for every line that is a JSON object. */
const eachObject = (path: string, use: (object: Tree) => void): Promise<unknown> =>
  withReadableFile(path, async (file) =>
    readLines(file, 0, (await file.stat()).size, (line) => {
      const object = parseObject(line);
      if (object !== null) use(object);
      return true;
    }),
  );

/** Bytes at the end of events.jsonl that are searched for its last line; a keyframe may follow the line. */
const TAIL_BYTES = [2 ** 18, 2 ** 23] as const;

/** The end of the run, from the last lines of events.jsonl; null if they name none. */
const endIn = (lines: readonly string[]): RunOutcome | null => {
  let ended: { readonly outcome: string; readonly message: string } | null = null;
  for (const text of lines) {
    const line = decode(text);
    if (line?._tag === "Run" || line?._tag === "Resumed") ended = null;
    else if (line?._tag === "End") ended = line;
    else if (line?._tag === "Keyframe") ended = line.frame.ended;
  }
  if (typeof ended?.message !== "string") return null;
  switch (ended.outcome) {
    case "completed":
      return { _tag: "Completed" };
    case "stopped":
      return { _tag: "Stopped", reason: ended.message };
    case "failed":
      return { _tag: "Failed", message: ended.message };
    default:
      return null;
  }
};

const endOfEvents = (path: string): Promise<RunOutcome | null> =>
  withReadableFile(path, async (file) => {
    const { size } = await file.stat();
    for (const bytes of TAIL_BYTES) {
      const from = Math.max(0, size - bytes);
      const text = (await readRange(file, from, size - from)).toString("utf8");
      // The text after the last newline is torn, and so is the text before the first one.
      const lines = text.split("\n").slice(from === 0 ? 0 : 1, -1);
      if (lines.length > 0 || from === 0) return endIn(lines);
    }
    return null;
  });

/** Finds whole checkpoints: their manifest is written last. */
const checkpointsIn = async (folder: string): Promise<RunResult["checkpoint"]> => {
  const steps = await Effect.runPromise(Effect.orElseSucceed(StepFolders.list(folder), () => []));
  const placeOf = async (step: number | undefined): Promise<CheckpointPlace | null> => {
    if (step === undefined) return null;
    const path = StepFolders.path(folder, step);
    return withReadableFile(join(path, MANIFEST), () => Promise.resolve({ step, path }));
  };
  const best = await readlink(join(folder, "best")).catch(() => null);
  let newest: CheckpointPlace | null = null;
  for (const step of steps.toReversed()) {
    newest = await placeOf(step);
    if (newest !== null) break;
  }
  return { newest, best: await placeOf(steps.find((step) => `step-${step}` === best)) };
};

const isOutcome = (value: unknown): value is 0 | 1 => value === 0 || value === 1;

/** The outcomes of the validations after the given steps. */
const outcomesIn = async (
  path: string,
  steps: ReadonlySet<number>,
): Promise<ReadonlyMap<number, ValidationOutcomes>> => {
  const outcomes = new Map<number, ValidationOutcomes>();
  if (steps.size === 0) return outcomes;
  await eachObject(path, ({ instances, step, success }) => {
    if (typeof step !== "number" || !steps.has(step)) return;
    if (!Array.isArray(success) || !success.every(isOutcome)) return;
    outcomes.set(step, { success, instances: Array.isArray(instances) ? instances : [] });
  });
  return outcomes;
};

const validationsIn = async (folder: string, records: StepRecords, plan: RunPlan): Promise<RunResult["validation"]> => {
  const { before, best, last } = records.validationSteps();
  const steps = new Set([before, best, last].filter((step) => step !== null));
  const outcomes = await outcomesIn(join(folder, "validations.jsonl"), steps);
  const results = new Map<number, ValidationResult>();
  for (const step of steps) {
    const record = records.validation(step);
    if (record === undefined) continue;
    results.set(step, validationOf(step, record, plan.validation, outcomes.get(step) ?? null));
  }
  const at = (step: number | null): ValidationResult | null => (step === null ? null : (results.get(step) ?? null));
  return { before: at(before), best: at(best), last: at(last) };
};

const isRunning = (folder: string): Promise<boolean> => hasWriter(folder).catch(() => false);

const endOf = async (folder: string, isWhole: boolean): Promise<RunEnd> => {
  if (await isRunning(folder)) return { _tag: "Running" };
  const events = join(folder, "events.jsonl");
  // Without a record of events, a run that made all its steps counts as complete.
  const hasEvents = (await withReadableFile(events, () => Promise.resolve(true))) ?? false;
  return (await endOfEvents(events)) ?? { _tag: isWhole && !hasEvents ? "Completed" : "Killed" };
};

/** An evaluation has no steps and writes no checkpoints. */
const evaluationResult = async (
  identity: Pick<RunResult, "name" | "folder">,
  { isWhole, minutes, success }: EvaluationResult,
): Promise<RunResult> => ({
  ...identity,
  kind: "evaluation",
  end: await endOf(identity.folder, isWhole),
  steps: { done: 0, planned: null },
  minutes,
  validation: { before: null, best: success, last: success },
  checkpoint: { newest: null, best: null },
  failedShare: null,
  cloning: null,
});

const endOfCloning = ({ end, message }: CloningRecord): RunEnd => {
  switch (end) {
    case "completed":
      return { _tag: "Completed" };
    case "stopped":
      return { _tag: "Stopped", reason: "stopped" };
    case "failed":
      return { _tag: "Failed", message };
    case null:
      return { _tag: "Killed" };
  }
};

/** A cloning run plays no validation. */
const cloningResult = async (
  identity: Pick<RunResult, "name" | "folder">,
  record: CloningRecord,
): Promise<RunResult> => ({
  ...identity,
  kind: "cloning",
  end: (await isRunning(identity.folder)) ? { _tag: "Running" } : endOfCloning(record),
  steps: { done: record.step, planned: record.steps },
  minutes: record.seconds / 60,
  validation: { before: null, best: null, last: null },
  checkpoint: await checkpointsIn(join(identity.folder, "checkpoints")),
  failedShare: null,
  cloning: { loss: record.loss, heldOutLoss: record.heldOutLoss, output: record.output, base: record.base },
});

const trainingResult = async (identity: Pick<RunResult, "name" | "folder">, plan: RunPlan): Promise<RunResult> => {
  const { folder } = identity;
  const records = new StepRecords();
  await eachObject(join(folder, "metrics.jsonl"), (record) => records.add(record));
  const done = records.step;
  return {
    ...identity,
    kind: "training",
    end: await endOf(folder, plan.steps !== null && done > 0 && done >= plan.steps),
    steps: { done, planned: plan.steps },
    minutes: records.minutes(),
    validation: await validationsIn(folder, records, plan),
    checkpoint: await checkpointsIn(join(folder, "checkpoints")),
    failedShare: records.failedShare(plan.training),
    cloning: null,
  };
};

/** Reads the result of the run in `folder`. For a folder that cannot be read, it has the name alone. */
export const readRunResult = async (path: string): Promise<RunResult> => {
  const folder = resolve(path);
  const textIn = (name: string) => readShortText(join(folder, name), LONGEST_TEXT);
  const tree = Result.getOrElse(readYaml((await textIn("config.yaml")) ?? ""), () => null);
  const plan = planOf(isTree(tree) ? tree : null);
  const identity = { folder, name: plan.name ?? basename(dirname(folder)) };
  const evaluation = evaluationOf(parseObject((await textIn("summary.json")) ?? ""));
  if (evaluation !== null) return evaluationResult(identity, evaluation);
  const cloning = cloningRecordOf(parseObject((await textIn(CLONING)) ?? ""));
  return cloning === null ? trainingResult(identity, plan) : cloningResult(identity, cloning);
};
