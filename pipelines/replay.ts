/**
 * The replay pipeline: trains a recorded run again in a scratch folder, with the replies of its log, and compares each update's parameters and
 * each token with the record. Invariant: the run's folder is read, never written.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Deferred, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import { BadInput, ReplayDifference } from "../src/domain/Errors.ts";
import type { Metrics } from "../src/domain/metrics/Metrics.ts";
import type * as Run from "../src/engine/Run.ts";
import { type ReceiveVersion, recordedGenerator } from "../src/generation/RecordedGenerator.ts";
import { type RecordedUpdates, readUpdates } from "../src/observe/record/events/recordedUpdates.ts";
import { recordedReplies } from "../src/observe/record/replies/recordedReplies.ts";
import * as StepFolders from "../src/support/files/StepFolders.ts";
import { temporaryFolder } from "../src/support/process/temporaryFolder.ts";
import { type OpenedVerification, openVerification } from "../src/tools/replay/openVerification.ts";
import { ReplayWatch } from "../src/tools/replay/ReplayWatch.ts";
import { scratchConfig } from "../src/tools/replay/scratchConfig.ts";
import { nothingVerified, type VerificationResult } from "../src/tools/replay/Verification.ts";
import { namedRun } from "./namedRun.ts";
import { checkedRun } from "./prepareRun.ts";
import { comparisonLines, resultLines, tokenDifferenceLine, updateDifferenceLine } from "./replayLines.ts";
import { train } from "./train.ts";

export interface ReplayWords {
  readonly run: string;
  /** Step of the recorded checkpoint to begin with; null for the start. */
  readonly from: number | null;
  /** Last step to replay; null for the last one of the run. */
  readonly until: number | null;
  /** Settings under which the last update is made once more, one after the other. */
  readonly changes: readonly string[];
}

/** A recorded run: its folder, its configuration and its updates. */
interface RecordedRun {
  readonly folder: string;
  readonly config: RunConfig;
  readonly updates: RecordedUpdates;
}

/** The part of a run that is trained again. */
interface Passage {
  readonly config: RunConfig;
  /** Folder of a checkpoint to begin with, and its step; null for the start of the run. */
  readonly from: StartingCheckpoint | null;
  readonly until: number;
  /** True if the passage ends with a checkpoint of `until`. */
  readonly saves: boolean;
  /** True if updates and tokens are compared with the record. */
  readonly compares: boolean;
}

interface StartingCheckpoint {
  readonly step: number;
  readonly path: string;
}

interface ReplayedPassage {
  readonly updates: number;
  readonly verification: VerificationResult;
  readonly metrics: Metrics | null;
  /** Trained parameters at the end; null if no update was made. */
  readonly parameters: Float32Array | null;
  /** Folder of the passage's checkpoint. */
  readonly checkpoint: string;
}

const configFor = Effect.fnUntraced(function* (folder: string, overrides: readonly string[]) {
  return (yield* checkedRun("train", { configName: null, envs: null, overrides, resume: folder })).config;
});

/** Reads what a run recorded. Fails with BadInput if that is not enough to replay it. */
const readRecorded = Effect.fnUntraced(function* (word: string) {
  const folder = yield* namedRun("RUN", word);
  const config = yield* configFor(folder, []);
  if (!config.trainer.replay)
    return yield* new BadInput({
      message: `RUN: ${word}: it was trained with trainer.replay=false; nearest: a run with trainer.replay=true`,
    });
  const updates = yield* Effect.tryPromise({
    try: () => readUpdates(join(folder, "events.jsonl")),
    catch: (cause) => (cause instanceof BadInput ? cause : new BadInput({ message: String(cause) })),
  });
  const recorded: RecordedRun = { folder, config, updates };
  return recorded;
});

/** A folder that is removed with the scope, or by a later process if this one is killed. */
const scratchFolder = temporaryFolder("replay");

/** Makes the folder of a run that goes on from a checkpoint; null without one. */
const resumableFolder = async (dir: string, config: RunConfig, from: StartingCheckpoint | null) => {
  if (from === null) return null;
  const folder = join(dir, "replay", "run");
  await mkdir(join(folder, "checkpoints"), { recursive: true });
  await writeFile(join(folder, "config.yaml"), render(config));
  await cp(from.path, StepFolders.path(join(folder, "checkpoints"), from.step), { recursive: true, dereference: true });
  return folder;
};

/** Closes the verification and keeps its last weights. */
interface VerificationHolder {
  opened: OpenedVerification | undefined;
  parameters: Float32Array | null;
}

/** Trains a passage of a recorded run again. Fails with ReplayDifference at the first update or token that differs. */
const replayPassage = Effect.fnUntraced(function* (recorded: RecordedRun, passage: Passage, dir: string) {
  const { compares, from, saves, until } = passage;
  const config = scratchConfig(passage.config, { dir, saveAt: saves ? until : 0 });
  const resume = yield* Effect.promise(() => resumableFolder(dir, config, from));
  const ended = yield* Deferred.make<void>();
  const holder: VerificationHolder = { opened: undefined, parameters: null };
  const watch = new ReplayWatch({
    checksums: compares ? recorded.updates.checksums : null,
    until,
    awaitsCheckpoint: saves,
    onEnd: () => Deferred.doneUnsafe(ended, Effect.void),
  });
  yield* Effect.addFinalizer(() => Effect.promise(async () => holder.opened?.close()));
  const generator = recordedGenerator(async (model): Promise<ReceiveVersion> => {
    if (compares) {
      holder.opened = await openVerification(config, model);
      watch.verifyBy(holder.opened);
    }
    return (version, payload) => {
      if (payload._tag !== "remote") holder.parameters = new Float32Array(payload.buffer);
      holder.opened?.receive(version, payload);
    };
  });
  const recordedModels = {
    generator,
    beforeUpdate: Effect.promise(async () => holder.opened?.caughtUp()),
  };
  const log = recordedReplies(join(recorded.folder, "replies"), until, (...given) => holder.opened?.collect(...given));
  const onStart = (run: Run.Run): void => {
    run.events$.subscribe((event) => watch.onEvent(event));
    run.steps$.subscribe((record) => watch.onStep(record));
  };
  let folder = "";
  const onFolder = (path: string): void => {
    folder = path;
  };
  const training = train({ config, resume, parts: { onStart }, replay: { recorded: recordedModels, log }, onFolder });
  yield* Effect.raceFirst(training, Deferred.await(ended));
  const verification = yield* Effect.tryPromise({
    try: async () => (await holder.opened?.result()) ?? nothingVerified,
    catch: (cause) => new ReplayDifference({ message: cause instanceof Error ? cause.message : String(cause) }),
  });
  const { first } = verification;
  if (first !== null) return yield* new ReplayDifference({ message: tokenDifferenceLine(first, verification) });
  if (watch.difference !== null)
    return yield* new ReplayDifference({ message: updateDifferenceLine(watch.difference) });
  const replayed: ReplayedPassage = {
    updates: watch.updates,
    verification,
    metrics: watch.metrics,
    parameters: holder.parameters,
    checkpoint: StepFolders.path(join(folder, "checkpoints"), until),
  };
  return replayed;
}, Effect.scoped);

/** Returns the recorded checkpoint of a step. Fails with BadInput that names the nearest one. */
const checkpointOf = Effect.fnUntraced(function* ({ folder }: RecordedRun, step: number) {
  const checkpoints = join(folder, "checkpoints");
  const path = StepFolders.path(checkpoints, step);
  const from: StartingCheckpoint = { step, path };
  if (existsSync(path)) return from;
  const steps = yield* Effect.orElseSucceed(StepFolders.list(checkpoints), () => []);
  const nearest = steps.toSorted((a, b) => Math.abs(a - step) - Math.abs(b - step))[0] ?? "the start, without --from";
  return yield* new BadInput({ message: `--from: ${step}: the run has no such checkpoint; nearest: ${nearest}` });
});

/** Makes the last update of a passage once as recorded and once under each change, from the same checkpoint. */
const compareUpdates = Effect.fnUntraced(function* (
  recorded: RecordedRun,
  before: StartingCheckpoint | null,
  { changes, until }: { readonly changes: readonly string[]; readonly until: number },
) {
  const outcomes = [];
  for (const change of [null, ...changes]) {
    const config = yield* configFor(recorded.folder, change === null ? [] : [change]);
    const passage = { config, from: before, until, saves: false, compares: change === null };
    const { metrics, parameters } = yield* Effect.flatMap(scratchFolder, (dir) =>
      replayPassage(recorded, passage, dir),
    );
    outcomes.push({ name: change ?? "recorded", metrics, parameters });
  }
  return comparisonLines(until, outcomes);
});

/** Replays a run; returns lines that say what was compared. Fails with ReplayDifference where it came out otherwise. */
export const replay = Effect.fn("pipelines.replay")(function* ({ changes, from, run, until }: ReplayWords) {
  const recorded = yield* readRecorded(run);
  const { config, updates } = recorded;
  const last = until ?? updates.steps;
  const begin = from === null ? null : yield* checkpointOf(recorded, from);
  const least = (begin?.step ?? 0) + 1;
  if (last < least || last > updates.steps) {
    const steps =
      least === 1 ? `the run closed ${updates.steps} steps` : `steps ${least} to ${updates.steps} come after --from`;
    const nearest = last < least ? least : Math.max(1, updates.steps);
    return yield* new BadInput({ message: `--until: ${last}: ${steps}; nearest: ${nearest}` });
  }
  const compares = true;
  if (changes.length === 0) {
    const passage = { config, from: begin, until: last, saves: false, compares };
    const replayed = yield* Effect.flatMap(scratchFolder, (dir) => replayPassage(recorded, passage, dir));
    return resultLines({ from: begin?.step ?? 0, until: last, ...replayed });
  }
  if (last - 1 === (begin?.step ?? 0)) return yield* compareUpdates(recorded, begin, { changes, until: last });
  const dir = yield* scratchFolder;
  const passage = { config, from: begin, until: last - 1, saves: true, compares };
  const replayed = yield* replayPassage(recorded, passage, dir);
  const before = { step: last - 1, path: replayed.checkpoint };
  return [
    ...resultLines({ from: begin?.step ?? 0, until: last - 1, ...replayed }),
    ...(yield* compareUpdates(recorded, before, { changes, until: last })),
  ];
}, Effect.scoped);
