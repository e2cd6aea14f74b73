/** The results of a tiny run that went to its end: its parameters, and its metrics without the machine's own. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import type { Tree } from "../../src/config/Tree.ts";
import type { Event } from "../../src/domain/Event.ts";
import type { Run } from "../../src/engine/Run.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

/** Metrics of the machine: time, what waits for what, and what shares a batch with what. All others are of what is computed. */
const ofTheMachine = /^(time$|timing_s\/|stage\/|step\/|generation\/|tokens\/.*_per_second$)/;

type Metrics = Readonly<Record<string, number>>;
type Controlled = Extract<Event, { readonly _tag: "Controlled" }>;

export interface TrainedRun {
  /** Hash of the last checkpoint's numbers. */
  readonly hash: string;
  /** Metrics of each step that are of what is computed. */
  readonly records: readonly Metrics[];
  /** Tokens that were fed again to rows of the generator's cache. */
  readonly refilledTokens: number;
  readonly controlled: readonly Controlled[];
}

const computed = (metrics: Metrics): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => !ofTheMachine.test(name)));

/** The metrics of each line of metrics.jsonl that are of what is computed. */
export const computedRecords = (lines: readonly string[]): readonly Metrics[] =>
  lines.map((line) => computed(JSON.parse(line)));

/** Trains a new tiny run under `changes`, `steer` told every event of it but controls. */
export const trainedRun = Effect.fnUntraced(function* (
  changes: Tree,
  steer: (event: Event, run: Run) => void = () => undefined,
) {
  const dir = yield* Effect.tap(temporaryFolder, writeModel);
  const config = tinyConfig(dir, changes);
  const controlled: Controlled[] = [];
  let folder = "";
  const onStart = (run: Run): void => {
    folder = run.folder;
    run.events$.subscribe((event) => {
      if (event._tag === "Controlled") controlled.push(event);
      else steer(event, run);
    });
  };
  yield* train({ config, resume: null, parts: { onStart } });
  const lines = yield* Effect.promise(() => readFile(join(folder, "metrics.jsonl"), "utf8"));
  const records = lines
    .trimEnd()
    .split("\n")
    .map((line): Metrics => JSON.parse(line));
  const result: TrainedRun = {
    hash: yield* parameterHash(join(folder, "checkpoints", `step-${config.trainer.total_training_steps}`)),
    records: records.map(computed),
    refilledTokens: records.at(-1)?.["generation/refilled_tokens"] ?? 0,
    controlled,
  };
  return result;
});
